#!/usr/bin/env bash
# A run that goes on when its reader leaves (`onDisconnect`), and the same reader back for what it has not seen.
set -euo pipefail
gateway=${GATEWAY:-http://127.0.0.1:8123}
run=curl-$$-1

echo "--- the first five lines, then gone"
{ curl -sSN --fail "$gateway/agents/demo" -H 'content-type: application/json' -d @- 2>/dev/null <<JSON || true
{"threadId": "curl-$$", "runId": "$run", "protocolVersion": "1.0",
 "messages": [{"id": "1", "role": "user", "content": "markdown"}],
 "forwardedProps": {"gateway": {"onDisconnect": "continue"}}}
JSON
} | head -5
echo "--- back for everything after number 2"
curl -sSN --fail "$gateway/runs/$run/events?after=2"
