// Sessions by slot, over the time of the run; and the same as a table.

import { h, prose, put, s } from "./dom.js";
import { count, duration, money, words } from "./format.js";

const ROW = 26;
const SHOWN = 600;
const LISTED = 200;

export function timeline(place, run, open) {
  const all = [...run.sessions.values()];
  if (!all.length) { put(place, h("p", { class: "empty" }, prose("No session yet: `dwindle run` starts the first one."))); return; }
  const shown = all.slice(-SHOWN);
  const wide = Math.max(300, place.clientWidth - 32), left = 52;
  const begin = all.length > SHOWN ? shown[0].start : 0, end = Math.max(begin + 1, run.seconds, ...shown.map((session) => session.end ?? 0));
  const slots = Math.max(...shown.map((session) => session.slot)) + 1;
  const x = (seconds) => left + ((Math.max(seconds, begin) - begin) / (end - begin)) * (wide - left - 4);
  const high = slots * ROW + 22;
  const picture = s("svg", { class: "lanes", viewBox: `0 0 ${wide} ${high}`, height: high, role: "img", "aria-label": `${all.length} sessions in ${slots} slots over ${duration(end)}; the table below lists them` },
    Array.from({ length: slots }, (_, slot) => [s("rect", { class: "bed", x: left, y: slot * ROW + 2, width: wide - left - 4, height: ROW - 4, rx: 5 }), s("text", { x: 0, y: slot * ROW + 18 }, `slot ${slot + 1}`)]),
    grid(begin, end, x, slots),
    shown.map((session) => bar(session, x, end, open)));
  const list = all.slice(-LISTED).reverse();
  put(place, picture, h("details", {},
    h("summary", { class: "empty" }, all.length > LISTED ? `The last ${LISTED} of ${all.length} sessions` : `All ${all.length} sessions`),
    h("table", {},
      h("thead", {}, h("tr", {}, ["atom", "role", "outcome"].map((name) => h("th", {}, name)), ["took", "tokens", "cost"].map((name) => h("th", { class: "number" }, name)), h("th", {}, "what was said"))),
      h("tbody", {}, list.map((session) => h("tr", {},
        h("td", {}, h("button", { type: "button", class: "link mono", on: { click: () => open(session.atom, session.nonce) } }, session.atom || "base case")),
        h("td", {}, session.role),
        h("td", {}, h("span", { class: `word ${session.outcome}` }, words(session.outcome))),
        h("td", { class: "number" }, duration((session.end ?? run.seconds) - session.start)),
        h("td", { class: "number" }, count(session.tokens)),
        h("td", { class: "number" }, money(session.usd)),
        h("td", {}, session.words.split("\n", 1)[0].slice(0, 160))))))));
}

function bar(session, x, end, open) {
  const from = x(session.start), wide = Math.max(2.5, x(session.end ?? end) - from), y = session.slot * ROW + 2;
  const name = session.atom || "base case";
  return s("g", { on: { click: () => open(session.atom, session.nonce) } },
    s("rect", { class: `bar-of ${session.outcome}`, x: from, y, width: wide, height: ROW - 4, rx: Math.min(5, wide / 2) }, s("title", {}, `${name}: ${session.role}, ${words(session.outcome)}, ${duration((session.end ?? end) - session.start)}`)),
    wide > 9 + name.length * 7 ? s("text", { class: "on", x: from + 7, y: y + 15 }, name) : null);
}

function grid(begin, end, x, slots) {
  const span = end - begin;
  const step = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200].find((one) => span / one <= 8) ?? 86400;
  const found = [];
  for (let at = Math.ceil(begin / step) * step; at <= end; at += step) {
    found.push(s("line", { class: "grid", x1: x(at), x2: x(at), y1: 0, y2: slots * ROW }), s("text", { class: "axis", x: x(at) + 3, y: slots * ROW + 15 }, at < 60 ? `${at} s` : duration(at)));
  }
  return found;
}
