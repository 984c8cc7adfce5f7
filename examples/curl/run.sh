#!/usr/bin/env bash
# One run: RunAgentInput in, events out as they arrive (-N). The client chooses the ids; a thread is a conversation.
set -euo pipefail
gateway=${GATEWAY:-http://127.0.0.1:8123}

curl -sSN --fail "$gateway/agents/demo" -H 'content-type: application/json' -d @- <<JSON
{"threadId": "curl-$$", "runId": "curl-$$-1", "protocolVersion": "1.0",
 "messages": [{"id": "1", "role": "user", "content": "${1:-tool}"}]}
JSON
