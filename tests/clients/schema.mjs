/* Capabilities, as they are given, held against AG-UI's official schema: whether it takes them, and what it makes of them. */

import { AgentCapabilitiesSchema } from "@ag-ui/core/schemas";
import { heard, main } from "./harness.mjs";

await main(async ({ given }) => {
  const { success, error, data } = AgentCapabilitiesSchema.safeParse(given);
  return [{ understood: success ? data : null, wrong: error?.message ?? null, ...(await heard()) }];
});
