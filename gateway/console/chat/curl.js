// Formats requests as `curl` commands. Pure: no DOM, no network. A token is never written out; the command uses a variable.

const shellQuote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function toCurl(url, { body, accept, token } = {}) {
  const lines = [`curl ${body ? "-N " : ""}${shellQuote(url)}`];
  if (accept) lines.push(`-H ${shellQuote(`accept: ${accept}`)}`);
  if (token) lines.push('-H "authorization: Bearer $AGUI_GATEWAY_TOKEN"');
  if (body !== undefined) lines.push("-H 'content-type: application/json'", `-d ${shellQuote(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}
