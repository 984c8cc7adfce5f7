// Requests as `curl`, for a shell. Pure. A token is never written out: its place is a variable.

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curl(url, { body, accept, token } = {}) {
  const lines = [`curl ${body ? "-N " : ""}${quoted(url)}`];
  if (accept) lines.push(`-H ${quoted(`accept: ${accept}`)}`);
  if (token) lines.push('-H "authorization: Bearer $AGUI_GATEWAY_TOKEN"');
  if (body !== undefined) lines.push("-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}
