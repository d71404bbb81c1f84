// The curve that gave the name: open atoms and gauge, from the first event to now.

import { h, put, s, the } from "./dom.js";
import { count } from "./format.js";

const SIGNS = { backtrack: "↩", backjump: "⤺", wind: "↻", redirect: "◆" };
const TONES = { wind: "park", redirect: "ask" };
const CROWD = 10;
const NAMES = { backtrack: "a way was given up", backjump: "turned back to an earlier choice", wind: "a new wind: what was parked is tried again", redirect: "redirected" };

export function curve(run) {
  const place = the("curve").querySelector(".body");
  const wide = Math.max(240, place.clientWidth - 32), high = 190;
  const points = run.points;
  if (points.length < 1) { put(place, h("p", { class: "empty" }, "Nothing has happened yet: the curve begins with the run.")); return; }
  const left = 26, right = 8, top = 20, foot = 20;
  const first = points[0].n, last = Math.max(run.head.revision, points[points.length - 1].n, first + 1);
  const most = Math.max(1, ...points.map((point) => point.open)), work = Math.max(1, run.head.most_work, ...points.map((point) => point.work));
  const x = (n) => left + ((n - first) / (last - first)) * (wide - left - right);
  const y = (share) => top + (1 - share) * (high - top - foot);
  const now = { n: last, open: run.head.open, work: run.head.work };
  const steps = [...points, now];
  const open = steps.map((point, at) => `${at ? `H${x(point.n)}` : `M${x(point.n)} ${y(point.open / most)}`}V${y(point.open / most)}`).join("");
  const gauge = steps.map((point, at) => `${at ? "L" : "M"}${x(point.n)} ${y(point.work / work)}`).join("");
  const marks = run.marks.filter((mark) => SIGNS[mark.kind]);
  let free = 0;
  const chart = s("svg", { class: "chart", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": said(run, points, marks) },
    [0, 0.5, 1].map((share) => [s("line", { class: "grid", x1: left, x2: wide - right, y1: y(share), y2: y(share) }), share === 0.5 && most < 4 ? null : s("text", { x: left - 6, y: y(share) + 3.5, "text-anchor": "end" }, count(most * share))]),
    s("path", { class: "open-area", d: `${open}V${y(0)}H${x(first)}Z` }),
    marks.map((mark) => s("g", { class: `mark ${mark.kind}` }, s("line", { x1: x(mark.n), x2: x(mark.n), y1: top - 4, y2: marks.length > CROWD ? top + 4 : y(0) }), marks.length > CROWD && x(mark.n) < free ? null : (free = x(mark.n) + 12, s("text", { x: x(mark.n), y: 13 }, SIGNS[mark.kind], s("title", {}, mark.text))))),
    s("path", { class: "gauge-line", d: gauge }),
    s("path", { class: "open-line", d: open }),
    ticks(points, x, wide - right, high));
  const kinds = Object.keys(SIGNS).filter((kind) => marks.some((mark) => mark.kind === kind));
  put(place, chart, h("div", { class: "key" },
    h("span", {}, h("i"), "open atoms"), h("span", {}, h("i", { class: "gauge" }), "gauge: work left"),
    kinds.map((kind) => h("span", {}, h("b", { class: TONES[kind] ?? "bad" }, SIGNS[kind]), `${NAMES[kind]} (${marks.filter((mark) => mark.kind === kind).length})`))));
}

// Where iterations begin; as many as there is room for.
function ticks(points, x, end, high) {
  const begun = points.filter((point, at) => point.iteration > 0 && point.iteration !== points[at - 1]?.iteration);
  const found = [];
  let free = 0;
  for (const point of begun) {
    if (x(point.n) < free || x(point.n) > end - 4) continue;
    found.push(s("text", { x: x(point.n), y: high - 5, "text-anchor": "start" }, found.length ? String(point.iteration) : `iteration ${point.iteration}`));
    free = x(point.n) + (found.length === 1 ? 72 : 30);
  }
  return found;
}

function said(run, points, marks) {
  return `Open atoms went from ${points[0].open} to ${run.head.open} in ${run.head.iteration} iterations; `
    + `the work left from ${run.head.most_work} to ${run.head.work}. ${marks.map((mark) => `${NAMES[mark.kind]}: ${mark.text}`).join("; ")}`;
}
