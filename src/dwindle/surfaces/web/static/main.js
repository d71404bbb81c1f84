// The page: which run, what has changed, and which parts of it have to be drawn again.

import { banner } from "./banner.js";
import { Changes } from "./changes.js";
import { curve } from "./curve.js";
import { Detail } from "./detail.js";
import { h, prose, put, say, steady, tabs, the } from "./dom.js";
import { GOING, PHASES, day } from "./format.js";
import { budgets, glance, questions, tick as tickGlance } from "./glance.js";
import { Graph } from "./graph.js";
import { Land } from "./land.js";
import { now, tick as tickNow } from "./now.js";
import { Outline, legend } from "./outline.js";
import { parked } from "./parked.js";
import * as record from "./record.js";
import { Redirect, ask } from "./redirect.js";
import { Run } from "./run.js";
import { follow, get, ofRun, post, takeToken, token } from "./server.js";
import { timeline } from "./timeline.js";

const MORE = [["timeline", "Timeline"], ["changes", "Changes"], ["spending", "Cost and tokens"], ["trail", "Trail"], ["corrections", "Corrections"], ["checks", "Checks and certificate"], ["events", "Events"]];
const CURRENT = "current";
const LOST = "The connection is lost; it is tried again.";

let run = new Run();
let listed = { runs: [], current: null };
let wanted = null;
let chosen = null;
let ending = null;
let tab = "timeline";
let asList = matchMedia("(max-width: 640px)").matches;

takeToken();
theme(remembered("theme"));
const graph = new Graph((name) => open(name), () => { if (asList) outline.draw(run); });
const outline = new Outline(graph, (name) => open(name));
const redirect = new Redirect(tell);
const land = new Land(tell);
const changes = new Changes((name) => open(name), () => { if (tab === "changes") more(); });
const detail = new Detail(graph, (edit) => redirect.open(run, edit));
legend();
show();

function open(name, nonce) {
  detail.open(run, name, nonce);
}

// --- which run ------------------------------------------------------------------------------------

async function look() {
  try { listed = await get("/api/runs"); } catch (error) {
    tell(error.code ? error.message : LOST, error.hint ?? "", true, "lost");
    return;
  }
  const select = the("runs");
  const known = JSON.stringify(listed.runs.map((one) => [one.run, one.phase, one.stop_code]));
  const name = wanted ?? listed.current ?? listed.runs[0]?.run ?? null;
  if (select.dataset.known !== known && document.activeElement !== select) {
    select.dataset.known = known;
    put(select, listed.runs.map((one) => h("option", { value: one.run, title: one.goal }, `${day(one.begun_at) || one.run.slice(-8)} · ${PHASES[one.phase]}${one.current ? "" : " · past"}${one.goal ? ` · ${one.goal.slice(0, 40)}` : ""}`)),
      listed.current && !listed.runs.some((one) => one.run === listed.current) ? h("option", { value: listed.current }, "not begun yet") : null);
    select.value = name;
  }
  welcome(!name);
  if (!name) return;
  if (name !== chosen && (chosen || name !== listed.current)) watch(name);
}

const STEPS = [
  ["Say what you want, and how one can tell that it is done:", 'dwindle go "GOAL" --check "pytest -q tests/test_it.py"'],
  ["Or agree on a plan first, then run it:", "dwindle align\ndwindle run"],
  ["Or watch a made-up run, which needs no agent and leaves nothing behind:", "dwindle demo"],
];

// In place of everything else, as long as there is no run.
function welcome(isEmpty) {
  the("welcome").hidden = !isEmpty;
  document.querySelector("main").hidden = isEmpty;
  the("runs").hidden = isEmpty;
  if (!isEmpty) return;
  the("goal").textContent = "";
  put(the("welcome"), h("h2", {}, `No run in ${listed.folder} yet`),
    STEPS.map(([label, line]) => [h("p", {}, label), h("pre", { class: "text-of" }, line)]),
    h("p", { class: "hint" }, prose("This page shows the run as soon as there is one. `dwindle doctor` says whether this machine is ready.")));
  document.documentElement.dataset.drawn = "0";
}

function watch(name) {
  if (name !== CURRENT) chosen = name;
  ending?.abort();
  ending = new AbortController();
  run = new Run();
  graph.begin();
  the("runs").value = name;
  graph.early(name, remembered("fold"));
  const mine = run;
  follow(ofRun(name, "events"), ending.signal,
    (kind, data) => { if (mine === run) { hush("lost"); update(run.hear(kind, data)); } },
    (error) => { if (error.code !== 404) tell(error.code ? error.message : LOST, error.hint ?? "", true, "lost"); });
}

the("runs").addEventListener("change", (event) => {
  wanted = event.target.value === listed.current ? null : event.target.value;
  watch(event.target.value);
});

// --- what has changed -----------------------------------------------------------------------------

const waiting = new Set();
function update(news) {
  if (!news.size || !run.ready) return;
  if (news.has("all")) begin();
  if (news.has("nodes")) { graph.hear(run, news); detail.hear(run, news); }
  for (const word of news) waiting.add(word);
  if (waiting.size === news.size || !update.asked) { update.asked = true; requestAnimationFrame(draw); }
}

function begin() {
  chosen = run.head.run;
  listed.current ??= chosen;
}

function draw() {
  update.asked = false;
  const news = new Set(waiting);
  waiting.clear();
  if (news.has("head") || news.has("nodes")) { banner(run, isCurrent(), open, deeds()); glance(run); parked(run, open); acts(); budgets(run); }
  if (news.has("head")) { the("goal").textContent = run.goal; the("goal").title = run.goal; document.title = `${run.head.open ? `${run.head.open} open · ` : ""}${run.goal || "dwindle"}`; questions(run, isCurrent(), tell); announce(); }
  if (news.has("nodes") && asList) outline.draw(run);
  if (news.has("head") || news.has("tails") || news.has("sessions")) now(run, open);
  if (news.has("points") || news.has("head")) curve(run);
  if (news.has("record") || news.has("all")) { glance(run); budgets(run); parked(run, open); notes(); }
  const mine = { timeline: "sessions", events: "events" }[tab] ?? "record";
  if (news.has(mine) || news.has("all")) more();
  document.documentElement.dataset.drawn = String(run.nodes.size);
  document.documentElement.dataset.revision = String(run.head.revision);
}

let told = "";
function announce() {
  if (announce.phase && run.head.phase !== announce.phase) look();
  announce.phase = run.head.phase;
  const words = `${PHASES[run.head.phase]}, ${run.head.open} open`;
  if (words !== told) say(told = words);
}

const isCurrent = () => run.ready && (listed.current === null || listed.current === run.head.run);

function acts() {
  const may = Boolean(token()) && isCurrent();
  the("stop").disabled = !may || !["running", "paused"].includes(run.head.phase);
  the("redirect").disabled = !may || !run.isGraph || run.head.phase === "completed";
  const why = !token() ? "To act, open the link that `dwindle serve` printed" : !isCurrent() ? "This run is over" : "";
  the("stop").title = why;
  the("redirect").title = why || (run.isGraph ? "" : "A tree is not redirected: edit .runner/tree.json while it rests");
}

function notes() {
  if (run.notes.length) tell(run.notes.join("\n"), "", false, "notes");
  else hush("notes");
}

// --- more about the run ---------------------------------------------------------------------------

function more() {
  const counts = { trail: run.trail_length ?? run.trail.length, corrections: run.corrections.length, timeline: run.sessions.size, events: run.head.revision };
  tabs(the("tabs"), MORE.map(([key, label]) => [key, label, counts[key]]), tab, (key) => { tab = key; more(); });
  const place = the("tab");
  place.setAttribute("aria-labelledby", `tabs-${tab}`);
  const kept = [...place.querySelectorAll("details")].map((one) => one.open);
  steady(place, () => {
    if (tab === "timeline") timeline(place, run, open);
    else if (tab === "changes") changes.show(place, run);
    else record[tab](place, run, open);
    if (tab !== "changes") place.querySelectorAll("details").forEach((one, at) => { one.open = kept[at] ?? false; });
  });
}

// What the banner offers.
function deeds() {
  if (!run.head.resolved) return [];
  const isCompleted = run.head.phase === "completed";
  const may = Boolean(token()) && isCurrent() && (isCompleted || run.head.phase === "stopped");
  return [["See the changes", () => { tab = "changes"; more(); the("tabs").scrollIntoView({ behavior: "smooth" }); }],
    ...(may ? [["Land …", () => land.open(run), isCompleted]] : [])];
}

// --- what a person does ---------------------------------------------------------------------------

the("stop").addEventListener("click", async () => {
  const reason = await ask("Stop the run?", "What is running is ended and kept; `dwindle run` goes on from there.", "Why (may be left empty)", "Stop", true);
  if (reason === null) return;
  the("stop").disabled = true;
  try { tell((await post(ofRun(run.head.run, "stop"), { reason })).said.join("\n")); } catch (error) { tell(error.message, error.hint, true); }
});
the("redirect").addEventListener("click", () => redirect.open(run));

the("as-graph").addEventListener("click", () => { asList = false; show(); });
the("as-list").addEventListener("click", () => { asList = true; show(); });
the("fold").addEventListener("change", (event) => {
  graph.fold = event.target.checked;
  graph.toggled.clear();
  remember("fold", graph.fold ? "1" : "0");
  if (run.ready) { graph.sheet.touched = false; graph.draw(); outline.draw(run); }
});

function show() {
  the("sheet").hidden = asList;
  the("outline").hidden = !asList;
  document.querySelector(".zoom").hidden = asList;
  the("as-graph").setAttribute("aria-pressed", String(!asList));
  the("as-list").setAttribute("aria-pressed", String(asList));
  if (!run.ready) return;
  if (asList) outline.draw(run);
  else graph.sheet.home();
}

the("theme").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  remember("theme", next);
  theme(next);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(remembered("theme")));

function theme(word) {
  const dark = word ? word === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  the("theme").textContent = dark ? "☀" : "☾";
}

function remembered(name) { try { return localStorage.getItem(`dwindle-${name}`); } catch { return null; } }
function remember(name, value) { try { localStorage.setItem(`dwindle-${name}`, value); } catch { /* then not */ } }

let saying = null;
function tell(text, hint = "", bad = false, about = "deed") {
  const place = the("notice");
  saying = about;
  place.hidden = false;
  place.className = `notice${bad ? " bad" : ""}`;
  place.textContent = [text, hint].filter(Boolean).join("\n");
  if (about === "deed") setTimeout(() => { if (place.textContent.startsWith(text)) hush("deed"); }, bad ? 15000 : 6000);
}
function hush(about) { if (saying === about) { saying = null; the("notice").hidden = true; } }

setInterval(() => { if (run.ready && GOING.includes(run.head.phase)) { tickGlance(run); tickNow(run); if (tab === "timeline" && !document.hidden) more(); } }, 1000);
setInterval(look, 4000);
addEventListener("resize", () => { if (run.ready) { curve(run); more(); } });
watch(CURRENT);
look();
