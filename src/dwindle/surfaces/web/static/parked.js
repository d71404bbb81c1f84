// What is not done: what is parked, and when the run has ended also what failed up to then. Each with why it
// failed last and what waits for it; what holds up most comes first.

import { h, put, the } from "./dom.js";
import { count } from "./format.js";
import { isStuck, more, often, why } from "./run.js";

const SHOWN = 8;

export function parked(run, open) {
  const place = the("parked"), body = place.querySelector(".body");
  const found = [...run.nodes.values()].filter((node) => node.undone).sort((one, other) => other.holds_up_count - one.holds_up_count);
  place.hidden = !found.length;
  put(the("parked-title"), found.every((node) => node.undone === "parked") ? "Parked" : "Parked and failing");
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  const link = (name) => h("button", { type: "button", class: "link mono", data: { name }, on: { click: () => open(name) } }, name);
  put(body, found.slice(0, SHOWN).map((node) => h("div", { class: "stuck" },
    h("div", { class: "line" }, link(node.id), h("span", { class: "what", title: node.description }, node.description)),
    h("div", { class: "why" }, often(node), why(node)),
    node.holds_up.length ? h("div", { class: "hint" }, "holds up ", node.holds_up.map((name, at) => [at ? ", " : "", link(name)]), more(node)) : null)),
  found.length > SHOWN ? h("p", { class: "empty" }, `and ${count(found.length - SHOWN)} more`) : null,
  found.length ? h("p", { class: "hint" }, next(run)) : null);
  if (focused) body.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
}

function next(run) {
  const winds = run.budgets.find((one) => one.name === "winds");
  const used = winds ? ` (${winds.spent} of ${winds.limit} winds used)` : "";
  if (run.head.phase === "completed") return "The run was completed without this.";
  if (run.head.failing) return `The run ended while there was something left to try${used}.`;
  if (isStuck(run)) return `The run ended because nothing else was left${used}; Redirect changes what is to be done, or how much may be tried.`;
  if (winds && winds.spent < winds.limit) return `The rest goes on; when nothing else is left, a new wind may try what is parked again${used}.`;
  return `No wind is left${used}: when nothing else can be done, the run ends.`;
}
