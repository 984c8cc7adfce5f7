#!/usr/bin/env bash
# A run that goes on when its client disconnects (`onDisconnect`); the client then reads the events that it missed.
set -euo pipefail
gateway=${GATEWAY:-http://127.0.0.1:8123}
run=curl-$$-1

echo "--- the first five lines, then disconnect"
{ curl -sSN --fail "$gateway/agents/demo" -H 'content-type: application/json' -d @- 2>/dev/null <<JSON || true
{"threadId": "curl-$$", "runId": "$run", "protocolVersion": "1.0",
 "messages": [{"id": "1", "role": "user", "content": "markdown"}],
 "forwardedProps": {"gateway": {"onDisconnect": "continue"}}}
JSON
} | head -5
echo "--- reconnect: all events after number 2"
curl -sSN --fail "$gateway/runs/$run/events?after=2"
