// What is on record: spending, trail, corrections, checks and certificate, events.

import { h, prose, put } from "./dom.js";
import { clock, count, duration, money, plural, words } from "./format.js";

const table = (heads, rows, foot = null) => h("table", {},
  h("thead", {}, h("tr", {}, heads.map((name) => name.endsWith("#") ? h("th", { class: "number" }, name.slice(0, -1)) : h("th", {}, name)))),
  h("tbody", {}, rows), foot);
const number = (text) => h("td", { class: "number" }, text);
const none = (text) => h("p", { class: "empty" }, prose(text));

// A column in which nothing is known is left out: agents need not report tokens or money.
const COLUMNS = [
  ["sessions#", (total) => count(total.sessions), () => true],
  ["read#", (total) => count(total.read), (total) => total.read],
  ["from cache#", (total) => count(total.cached), (total) => total.cached],
  ["written#", (total) => count(total.written), (total) => total.written],
  ["tokens#", (total) => count(total.tokens), (total) => total.tokens],
  ["cost#", (total) => price(total), (total) => total.usd],
  ["time of sessions#", (total) => duration(total.seconds), () => true],
];

export function spending(place, run) {
  const spent = run.spending;
  if (!spent.run.sessions) { put(place, none("Nothing was spent yet: no session has been started.")); return; }
  const shown = COLUMNS.filter(([, , known]) => known(spent.run));
  const together = { ...spent.run, seconds: Object.values(spent.by_role).reduce((sum, total) => sum + total.seconds, 0) };
  const by = (totals, label) => Object.entries(totals).sort((a, b) => b[1].usd - a[1].usd || b[1].tokens - a[1].tokens || b[1].seconds - a[1].seconds).map(([name, total]) => h("tr", {},
    h("td", {}, label(name)), shown.map(([, text]) => number(text(total))),
    h("td", { style: { width: "18%" } }, h("span", { class: "share", style: { width: `${share(total, together)}%` } }))));
  const heads = [...shown.map(([name]) => name), "share"];
  const sum = h("tfoot", {}, h("tr", {}, h("td", {}, "together"), shown.map(([, text]) => number(text(together))), h("td")));
  put(place, table(["role", ...heads], by(spent.by_role, (name) => name), sum),
    h("p", { class: "hint" }, `The run took ${duration(spent.run.seconds)} by the clock; sessions side by side each count their own time.${spent.run.tokens || spent.run.usd ? "" : " The agents reported neither tokens nor cost."}`),
    h("details", {}, h("summary", { class: "empty" }, "By atom"), table(["atom", ...heads], by(spent.by_atom, (name) => name || "base case"))));
}

const price = (total) => `${money(total.usd, total.estimated)}${total.unpriced ? " +" : ""}`;
const share = (total, all) => Math.round(100 * (all.usd ? total.usd / all.usd : all.tokens ? total.tokens / all.tokens : all.seconds ? Math.min(1, total.seconds / all.seconds) : 0));

export function trail(place, run, open) {
  const list = [...run.trail].reverse();
  const length = run.trail_length ?? list.length;
  if (!list.length) { put(place, none("The Trail is empty: nothing was chosen, given up or failed so far.")); return; }
  put(place, table(["when", "what", "where", "why"], list.map((entry) => h("tr", {},
    h("td", { class: "when" }, clock(entry.timestamp)),
    h("td", { class: "kind" }, h("span", { class: `word ${entry.type}` }, words(entry.type))),
    h("td", { class: "kind mono" }, entry.or_group ? [link(entry.or_group, open), entry.selected ? [" → ", link(entry.selected, open)] : ""] : entry.atom ? [link(entry.atom, open), entry.attempt ? `, attempt ${entry.attempt}` : ""] : entry.type === "wind" ? `wind ${entry.attempt}` : ""),
    h("td", {}, first(entry.reason))))),
  length > list.length ? none(`The last ${list.length} of ${length}; \`dwindle log\` has all.`) : null);
}

const link = (name, open) => h("button", { type: "button", class: "link mono", on: { click: () => open(name) } }, name);
const first = (text) => { const [line] = String(text).split("\n", 1); return line.length > 300 ? `${line.slice(0, 300)}…` : line; };

export function corrections(place, run) {
  if (!run.corrections.length) { put(place, none("This run was not redirected. Redirect, above, or `dwindle redirect` changes its direction.")); return; }
  put(place, table(["when", "what", "the Trail", "in words"], [...run.corrections].reverse().map((one) => h("tr", {},
    h("td", { class: "when" }, clock(one.timestamp)), h("td", { class: "kind" }, h("span", { class: "word redirect" }, words(one.type))),
    h("td", {}, one.trail_cleared ? "cleared" : "kept"), h("td", {}, one.description)))));
}

export function checks(place, run) {
  const made = run.certificate;
  const rows = (made ? made.checks : run.base_case).map((check) => h("tr", {},
    h("td", { style: { "padding-left": `${check.depth * 18}px` } }, check.item), h("td", { class: "kind" }, check.type),
    h("td", { class: "mono" }, check.command),
    h("td", {}, check.verdict ? h("span", { class: `word ${check.verdict}` }, words(check.verdict)) : h("span", { class: "word" }, "not judged yet")),
    number(check.verdict ? [check.exit_code === null ? "" : `exit ${check.exit_code}, `, duration(check.seconds)].join("") : ""), number(check.tests === null ? "" : count(check.tests))));
  put(place, made ? certificate(made) : none("No certificate yet: it is made when everything is resolved and the base case was run in a fresh checkout."),
    table(["check", "kind", "command", "verdict", "how#", "tests#"], rows),
    (made?.questions ?? []).map((one) => h("p", {}, h("span", { class: "word" }, one.answer), ` ${one.item}${one.words ? `: ${one.words}` : ""}`)));
}

function certificate(made) {
  return h("p", {}, h("span", { class: `word ${made.holds ? "passed" : "failed"}` }, made.holds ? "it holds" : words(made.verdict)),
    " on commit ", h("code", {}, made.commit.slice(0, 12)), `, ${clock(made.at)}; containment ${made.containment.strength}, by ${made.containment.mechanism}; ${plural(made.pins.length, "pinned file")}`,
    made.not_needed.length ? `; not needed: ${made.not_needed.join(", ")}` : "",
    made.parked.length ? `; parked: ${made.parked.map((one) => one.name).join(", ")}` : "");
}

export function events(place, run) {
  if (!run.events.length) { put(place, none("Nothing has happened yet: `dwindle run` begins.")); return; }
  put(place, table(["when", "#", "what happened"], run.events.slice(-250).reverse().map((event) => h("tr", {},
    h("td", { class: "when" }, clock(event.at)), h("td", { class: "when" }, String(event.n)), h("td", {}, first(event.text))))));
}
