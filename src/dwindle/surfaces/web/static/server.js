// Talking to `dwindle serve`. The token comes with the link, stays in this tab, and travels in a header.

const KEY = "dwindle-token";

export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token") || new URLSearchParams(location.search).get("token");
  if (!found) return;
  try { sessionStorage.setItem(KEY, found); } catch { held = found; }
  history.replaceState(null, "", location.pathname);
}

let held = "";
export function token() {
  try { return sessionStorage.getItem(KEY) || held; } catch { return held; }
}

function headers(more = {}) {
  return token() ? { Authorization: `Bearer ${token()}`, ...more } : more;
}

async function answer(response) {
  const data = await response.json().catch(() => ({ error: `the server said ${response.status}`, hint: "" }));
  if (response.ok) return data;
  throw Object.assign(new Error(data.error || "refused"), { hint: data.hint || "", said: data.said, code: response.status });
}

export async function get(path) {
  return answer(await fetch(path, { headers: headers() }));
}

export async function post(path, body) {
  return answer(await fetch(path, { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) }));
}

export const ofRun = (run, rest) => `/api/runs/${encodeURIComponent(run)}/${rest}`;

// Server-sent events over fetch, because an EventSource sends no headers. Ends by `signal` alone:
// when the connection is lost it begins again, and the first message is the whole picture.
export async function follow(path, signal, hear, lost) {
  let wait = 500;
  while (!signal.aborted) {
    try {
      const response = await fetch(path, { headers: headers(), signal });
      if (!response.ok) await answer(response);
      await read(response.body, (kind, data) => { wait = 500; hear(kind, data); });
    } catch (error) {
      if (signal.aborted) return;
      lost(error);
      if (error.code === 401) return;
    }
    await new Promise((next) => setTimeout(next, wait));
    wait = Math.min(wait * 2, 3000);
  }
}

async function read(body, hear) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const messages = rest.split("\n\n");
    rest = messages.pop();
    for (const message of messages) {
      const lines = message.split("\n");
      const kind = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (kind && data) hear(kind, JSON.parse(data));
    }
  }
}
