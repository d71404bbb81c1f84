// What one sees first: how far, how much can still happen at most, what it costs.

import { h, put, the } from "./dom.js";
import { PHASES, count, duration, money, plural, short, words } from "./format.js";
import { post, ofRun, token } from "./server.js";

export function glance(run) {
  const head = run.head;
  const atoms = [...run.nodes.values()].filter((node) => node.kind === "atom");
  const tally = { resolved: 0, running: 0, open: 0, parked: 0, left: 0 };
  for (const node of atoms) {
    if (node.status === "resolved") tally.resolved += 1;
    else if (node.session !== null) tally.running += 1;
    else if (node.status === "parked") tally.parked += 1;
    else if (node.live) tally.open += 1;
    else tally.left += 1;
  }
  const fallen = head.most_work ? head.work / head.most_work : 0;
  const ended = head.stop_code && head.phase !== "running" ? head.reason || words(head.stop_code) : "";
  put(the("glance"),
    fact(["Open", h("span", { class: `phase ${head.phase}` }, PHASES[head.phase])],
      [count(head.open), h("small", {}, ` of ${plural(head.atoms, "atom")}`)],
      h("div", { class: "shares", role: "img", "aria-label": `${tally.resolved} resolved, ${tally.running} running, ${tally.open} open, ${tally.parked} parked, ${tally.left} left behind or in reserve` },
        Object.entries(tally).map(([name, size]) => size ? h("span", { class: name, style: { "flex-grow": size } }) : null)),
      ended || `${tally.resolved} resolved, ${tally.running} running, ${count(head.ready)} ready${head.parked ? `, ${count(head.parked)} parked` : ""}${tally.left ? `, ${tally.left} aside` : ""}`),
    fact(["Can still happen"], [head.phase === "completed" ? "nothing" : ["≤ ", count(head.bound)], head.phase === "completed" ? null : h("small", {}, ` ${head.bound === 1 ? "session" : "sessions"}`)], null,
      head.phase === "completed" ? "the run is completed" : "unless you redirect"),
    fact(["Gauge"], [head.gauge < 1e7 ? count(head.gauge) : short(head.gauge)],
      h("div", { class: "bar", role: "img", "aria-label": `work left: ${head.work} of ${head.most_work}` }, h("span", { style: { width: `${Math.round(fallen * 100)}%` } })),
      `work left ${count(head.work)} of ${count(head.most_work)}`),
    fact(["Time"], [h("span", { id: "clock" }, duration(run.seconds))], null, `iteration ${head.iteration} of ${head.max_iterations}`),
    fact(["Cost"], [money(head.usd)], null, `${plural(head.tokens, "token")} in ${plural(run.sessions.size, "session")}`));
}

function fact(label, value, bar, more) {
  return h("div", { class: "fact" }, h("div", { class: "label" }, label), h("div", { class: "value" }, value), bar, h("div", { class: "more", title: more }, more));
}

export function tick(run) {
  const clock = the("clock");
  if (clock) clock.textContent = duration(run.seconds);
}

const NAMES = { iterations: "iterations", seconds: "time", usd: "money", tokens: "tokens", atoms: "atoms ever", verifications: "verifications", backjumps: "backjumps", winds: "winds", redirects: "redirects", forgiven: "forgiven" };

export function budgets(run) {
  put(the("budgets").querySelector(".body"), run.budgets.map(({ name, spent, limit }) => {
    const share = limit ? Math.min(1, spent / limit) : 0;
    const form = { seconds: duration, usd: money }[name] ?? count;
    return h("div", { class: "budget" },
      h("span", {}, NAMES[name] ?? words(name)),
      limit === null ? h("span", {}, "no limit") : h("div", { class: `bar ${share >= 1 ? "over" : share >= 0.8 ? "near" : ""}` }, h("span", { style: { width: `${share * 100}%` } })),
      h("span", {}, h("b", {}, form(spent)), limit === null ? "" : ` of ${form(limit)}`));
  }));
}

// Assertions that wait for a person's word. Rebuilt only if the questions have changed: the user may be typing.
let asked = "";
export function questions(run, current, tell) {
  const place = the("questions");
  const open = current && run.head.phase !== "completed" ? run.head.questions : [];
  const now = JSON.stringify([run.head.run, open, Boolean(token())]);
  if (now === asked) return;
  asked = now;
  place.hidden = !open.length;
  put(place, open.length ? h("h2", {}, "Only a person can judge this") : null, open.map((item) => {
    const why = h("input", { type: "text", placeholder: "why (kept with your answer)", "aria-label": `Why, about: ${item}`, maxlength: "2000" });
    const answer = (word) => async () => {
      try {
        const { said } = await post(ofRun(run.head.run, "confirm"), { item, answer: word, words: why.value });
        tell(said.join("\n"));
      } catch (error) { tell(error.message, error.hint, true); }
    };
    return h("div", { class: "question" }, h("span", { class: "item" }, item), why,
      h("button", { type: "button", class: "main", disabled: !token(), on: { click: answer("yes") } }, "Yes"),
      h("button", { type: "button", disabled: !token(), on: { click: answer("no") } }, "No"));
  }));
}
