import { CopilotChat, useCapabilities, useFrontendTool, useInterrupt } from "@copilotkit/react-core/v2";
import { useState } from "react";
import { z } from "zod";
import { Abilities } from "./Abilities.jsx";
import { Approval } from "./Approval.jsx";

export function App({ agent }) {
  const [background, setBackground] = useState("");
  const capabilities = useCapabilities(agent);

  // A tool of the page's own: the agent calls it, the page carries it out, the gateway brings back the answer.
  useFrontendTool({
    name: "change_background",
    description: "Changes the page's background to a CSS colour.",
    parameters: z.object({ color: z.string().describe("A CSS colour.") }),
    handler: async ({ color }) => {
      setBackground(color);
      return `the background is ${color} now`;
    },
  });

  // Whatever the agent asks: a permission, a form. The answer goes on with the same turn.
  useInterrupt({ render: (asked) => <Approval {...asked} /> });

  return (
    <div className="app" style={{ background }}>
      <Abilities capabilities={capabilities} />
      <main>
        {/* Attachments only for an agent that looks at them. */}
        <CopilotChat agentId={agent} attachments={{ enabled: capabilities?.multimodal?.input?.image === true }} />
      </main>
    </div>
  );
}
