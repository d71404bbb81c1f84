// Who is at work, for how long, and what they say.

import { h, put, the } from "./dom.js";
import { cost, duration } from "./format.js";
import { isStuck } from "./run.js";

export function now(run, open) {
  const place = the("now").querySelector(".body");
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.nonce : null;
  const running = run.running;
  if (!running.length || run.head.phase === "cut_short") { put(place, h("p", { class: "empty" }, idle(run))); return; }
  put(place, running.map((session) => {
    const lines = run.tails[session.nonce] ?? [];
    const what = session.atom ? run.nodes.get(session.atom)?.description ?? "" : "verifying the base case";
    return h("div", { class: "session" },
      h("div", { class: "line" },
        h("button", { type: "button", class: "link mono", data: { nonce: session.nonce }, on: { click: () => open(session.atom, session.nonce) } }, session.atom || session.role),
        h("span", { class: "what", title: what }, what),
        h("span", { class: "since", data: { start: session.start } }, duration(run.seconds - session.start))),
      session.waits ? h("div", { class: "hint" }, `waits: ${session.waits}`) : null,
      session.usd || session.tokens ? h("div", { class: "hint" }, cost(session.tokens, session.usd, session)) : null,
      lines.length ? h("div", { class: "tail" }, lines.map((line) => h("div", {}, line))) : null);
  }));
  if (focused) place.querySelector(`[data-nonce="${focused}"]`)?.focus();
}

export function tick(run) {
  for (const since of the("now").querySelectorAll(".since")) since.textContent = duration(run.seconds - Number(since.dataset.start));
}

function idle(run) {
  const phase = run.head.phase;
  if (phase === "running") return "Between two sessions.";
  if (phase === "cut_short") return "Nothing: its runner was ended in the middle. `dwindle run` goes on from there.";
  if (phase === "completed") return "Nothing: every check of the base case passed.";
  if (phase === "pending") return "Nothing yet. `dwindle run` begins.";
  if (isStuck(run)) return "Nothing: what is left is parked.";
  if (run.head.questions.length) return "Nothing: your word is needed.";
  return "Nothing. `dwindle run` goes on from here.";
}
