const SHOWN = [
  ["Images", (can) => can.multimodal?.input?.image],
  ["Reasoning", (can) => can.reasoning?.supported],
  ["Approvals", (can) => can.humanInTheLoop?.approvals],
  ["Subagents", (can) => can.multiAgent?.supported],
  ["This page's tools", (can) => can.tools?.clientProvided],
];

/** What the agent can do. Absent is not "no": it is unknown, and not listed. */
export function Abilities({ capabilities }) {
  if (!capabilities) return <aside aria-label="What it can do">Asking the gateway…</aside>;
  const known = SHOWN.map(([name, read]) => [name, read(capabilities)]).filter(([, can]) => can !== undefined);
  return (
    <aside aria-label="What it can do">
      <h1>{capabilities.identity?.name}</h1>
      <p>{capabilities.identity?.description}</p>
      <ul>
        {known.map(([name, can]) => (
          <li key={name} className={can ? "can" : "cannot"}>
            {can ? "✓" : "✗"} {name}
          </li>
        ))}
      </ul>
    </aside>
  );
}
