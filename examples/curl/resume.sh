#!/usr/bin/env bash
# A run that asks ends with an interrupt, and the agent's turn waits. The next run on the thread answers: with `resume`.
set -euo pipefail
gateway=${GATEWAY:-http://127.0.0.1:8123}
thread=curl-$$

post() { curl -sSN --fail "$gateway/agents/demo" -H 'content-type: application/json' -d @-; }

asked=$(post <<JSON
{"threadId": "$thread", "runId": "$thread-1", "protocolVersion": "1.0",
 "messages": [{"id": "1", "role": "user", "content": "approve"}]}
JSON
)
echo "$asked"
interrupt=$(echo "$asked" | sed -n 's/.*"interrupts":\[{"id":"\([^"]*\)".*/\1/p')
echo "--- yes, but another file"
post <<JSON
{"threadId": "$thread", "runId": "$thread-2", "protocolVersion": "1.0", "messages": [],
 "resume": [{"interruptId": "$interrupt", "status": "resolved",
             "payload": {"approved": true, "editedArgs": {"path": "old-notes.txt"}}}]}
JSON
