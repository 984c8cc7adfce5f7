import "@copilotkit/react-core/v2/styles.css";
import "./app.css";
import { CopilotKitProvider } from "@copilotkit/react-core/v2";
import { createRoot } from "react-dom/client";
import { App } from "./App.jsx";

const GATEWAY = import.meta.env.VITE_GATEWAY ?? "http://127.0.0.1:8123";
const agent = new URLSearchParams(location.search).get("agent") ?? "demo";

createRoot(document.getElementById("root")).render(
  <CopilotKitProvider runtimeUrl={`${GATEWAY}/copilotkit`} agentId={agent} enableInspector={false}>
    <App agent={agent} />
  </CopilotKitProvider>,
);
