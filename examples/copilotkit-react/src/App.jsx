import { CopilotChat, useCapabilities, useFrontendTool, useInterrupt } from "@copilotkit/react-core/v2";
import { useState } from "react";
import { z } from "zod";
import { Abilities } from "./Abilities.jsx";
import { Approval } from "./Approval.jsx";

export function App({ agent }) {
  const [background, setBackground] = useState("");
  const capabilities = useCapabilities(agent);

  // A tool of the page: the agent calls it, the page runs it, the gateway sends the result to the agent.
  useFrontendTool({
    name: "change_background",
    description: "Changes the page's background to a CSS colour.",
    parameters: z.object({ color: z.string().describe("A CSS colour.") }),
    handler: async ({ color }) => {
      setBackground(color);
      return `the background is now ${color}`;
    },
  });

  // The agent's interrupts: an approval, a form. With the answer, the same turn goes on.
  useInterrupt({ render: (props) => <Approval {...props} /> });

  return (
    <div className="app" style={{ background }}>
      <Abilities capabilities={capabilities} />
      <main>
        {/* Attachments only if the agent supports them. */}
        <CopilotChat agentId={agent} attachments={{ enabled: capabilities?.multimodal?.input?.image === true }} />
      </main>
    </div>
  );
}
