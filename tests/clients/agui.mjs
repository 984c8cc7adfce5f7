/* `@ag-ui/client` 1.0, over SSE or protobuf, with everything it verifies. */

import { HttpAgent } from "@ag-ui/client";
import { converse } from "./conversation.mjs";
import { main } from "./harness.mjs";

await main((talk, job) => converse(HttpAgent, talk, job));
