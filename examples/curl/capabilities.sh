#!/usr/bin/env bash
# What an agent can do, now. The tag that comes with the answer makes asking again cheap: 304 means nothing has changed.
set -euo pipefail
url=${GATEWAY:-http://127.0.0.1:8123}/agents/${1:-demo}/capabilities

curl -sS --fail "$url"
echo
echo "--- and who said so"
curl -sS --fail "$url?explain=1"
echo
echo "--- asked again"
tag=$(curl -sS --fail -o /dev/null -D - "$url" | tr -d '\r' | awk 'tolower($1) == "etag:" {print $2}')
curl -sS -o /dev/null -w '%{http_code}\n' -H "if-none-match: $tag" "$url"
