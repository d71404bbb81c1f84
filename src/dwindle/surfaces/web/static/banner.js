// How the run stands when no runner is at work: what came of it, why, and what to do next.

import { h, prose, put, the } from "./dom.js";
import { GOING, PHASES, words } from "./format.js";
import { worst } from "./run.js";

const SAID = {
  pending: "No session has been started yet.",
  resting: "It rests between two steps.",
  cut_short: "Its runner was ended in the middle of its work; what was finished is kept.",
};

// What the run came to, in a few words.
export function result(head) {
  if (head.phase !== "stopped") return PHASES[head.phase];
  return head.stop_code ? words(head.stop_code) : PHASES.stopped;
}

let shown = "";
export function banner(run, isCurrent, open, deeds) {
  const place = the("banner"), head = run.head;
  const over = !GOING.includes(head.phase);
  const first = over && head.phase !== "completed" ? worst(run) : null;
  const now = JSON.stringify([head.run, head.phase, head.reason, head.next, head.stop_code, isCurrent, first?.id, deeds.map(([label]) => label)]);
  if (now === shown) return;
  shown = now;
  place.hidden = !over;
  place.className = `banner ${head.phase}`;
  if (!over) return;
  const code = head.phase === "stopped" && head.exit_code !== null ? `exit code ${head.exit_code}` : "";
  const title = head.phase === "stopped" ? `Stopped: ${result(head)}` : PHASES[head.phase];
  put(place,
    h("div", { class: "told" },
      h("h2", {}, title[0].toUpperCase() + title.slice(1), code ? h("small", {}, code) : null),
      h("p", { class: "reason" }, head.reason || SAID[head.phase] || ""),
      h("p", { class: "next" }, h("b", {}, "Next: "), isCurrent ? prose(head.next) : "nothing; this run is over, and the plan belongs to another run now.")),
    h("div", { class: "deeds" },
      first ? h("button", { type: "button", on: { click: () => open(first.id) } }, `Why ${first.id} failed`) : null,
      deeds.map(([label, act, main]) => h("button", { type: "button", class: main ? "main" : "", on: { click: act } }, label))));
}
