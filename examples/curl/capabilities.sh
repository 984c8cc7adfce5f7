#!/usr/bin/env bash
# An agent's capabilities. The ETag of the response makes the next request cheap: 304 means that nothing has changed.
set -euo pipefail
url=${GATEWAY:-http://127.0.0.1:8123}/agents/${1:-demo}/capabilities

curl -sS --fail "$url"
echo
echo "--- with the source of each value"
curl -sS --fail "$url?explain=1"
echo
echo "--- the same request with If-None-Match"
tag=$(curl -sS --fail -o /dev/null -D - "$url" | tr -d '\r' | awk 'tolower($1) == "etag:" {print $2}')
curl -sS -o /dev/null -w '%{http_code}\n' -H "if-none-match: $tag" "$url"
