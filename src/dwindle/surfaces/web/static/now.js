// Who is at work, for how long, and what they say.

import { h, put, the } from "./dom.js";
import { GOING, cost, duration } from "./format.js";

export function now(run, open) {
  const place = the("now").querySelector(".body");
  the("now").hidden = !GOING.includes(run.head.phase); // then the banner says how it stands
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.nonce : null;
  const running = run.running;
  if (!running.length) { put(place, h("p", { class: "empty" }, "Between two sessions.")); return; }
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
