const LISTED = [
  ["Images", (can) => can.multimodal?.input?.image],
  ["Reasoning", (can) => can.reasoning?.supported],
  ["Approvals", (can) => can.humanInTheLoop?.approvals],
  ["Subagents", (can) => can.multiAgent?.supported],
  ["This page's tools", (can) => can.tools?.clientProvided],
];

/** The agent's capabilities. A missing one is unknown, not unsupported, and is not listed. */
export function Abilities({ capabilities }) {
  if (!capabilities) return <aside aria-label="Capabilities">Loading…</aside>;
  const known = LISTED.map(([name, read]) => [name, read(capabilities)]).filter(([, can]) => can !== undefined);
  return (
    <aside aria-label="Capabilities">
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
