#!/usr/bin/env bash
# A run that needs an approval ends with an interrupt, and the agent's turn waits. The thread's next run answers it with
# `resume`.
set -euo pipefail
gateway=${GATEWAY:-http://127.0.0.1:8123}
thread=curl-$$

post() { curl -sSN --fail "$gateway/agents/demo" -H 'content-type: application/json' -d @-; }

events=$(post <<JSON
{"threadId": "$thread", "runId": "$thread-1", "protocolVersion": "1.0",
 "messages": [{"id": "1", "role": "user", "content": "approve"}]}
JSON
)
echo "$events"
interrupt=$(echo "$events" | sed -n 's/.*"interrupts":\[{"id":"\([^"]*\)".*/\1/p')
echo "--- approved, with another file"
post <<JSON
{"threadId": "$thread", "runId": "$thread-2", "protocolVersion": "1.0", "messages": [],
 "resume": [{"interruptId": "$interrupt", "status": "resolved",
             "payload": {"approved": true, "editedArgs": {"path": "old-notes.txt"}}}]}
JSON
