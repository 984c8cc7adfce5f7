/* `@ag-ui/client` 0.0.59, from before AG-UI 1.0: what most front ends still ship. It sends no `protocolVersion`. */

import { HttpAgent } from "ag-ui-client-0";
import { converse } from "./conversation.mjs";
import { main } from "./harness.mjs";

await main((talk, job) => converse(HttpAgent, talk, job));
