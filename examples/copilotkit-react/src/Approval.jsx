/** One interrupt of the agent. Its schema lists the answers: the agent's own options, or else Allow and Deny. */
export function Approval({ interrupt, resolve, cancel }) {
  const options = interrupt?.responseSchema?.properties?.optionId?.oneOf ?? [];
  return (
    <section className="approval" aria-label="The agent asks for approval">
      <p>{interrupt?.message ?? "Allow the agent to continue?"}</p>
      {options.map(({ const: optionId, title }) => (
        <button key={optionId} onClick={() => resolve({ optionId })}>
          {title ?? optionId}
        </button>
      ))}
      {options.length === 0 && (
        <>
          <button onClick={() => resolve({ approved: true })}>Allow</button>
          <button onClick={() => resolve({ approved: false })}>Deny</button>
        </>
      )}
      <button onClick={() => cancel()}>Cancel</button>
    </section>
  );
}
