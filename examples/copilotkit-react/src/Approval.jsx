/** One question of the agent's. Its schema says which answers there are: here yes and no, or the agent's own options. */
export function Approval({ interrupt, resolve, cancel }) {
  const options = interrupt?.responseSchema?.properties?.optionId?.oneOf ?? [];
  return (
    <section className="approval" aria-label="The agent asks">
      <p>{interrupt?.message ?? "May I go on?"}</p>
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
