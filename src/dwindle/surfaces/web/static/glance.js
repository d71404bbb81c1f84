// What one sees first: how far, how much can still happen at most, what it costs.

import { h, prose, put, the } from "./dom.js";
import { result } from "./banner.js";
import { PHASES, count, duration, money, plural, words } from "./format.js";
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
  const spent = run.spending.run; // one message brings it and the budgets, so that their numbers agree
  put(the("glance"),
    fact(["Open", h("span", { class: `phase ${head.phase}` }, PHASES[head.phase])],
      [count(head.open), h("small", {}, ` of ${plural(head.atoms, "atom")}`)],
      h("div", { class: "shares", role: "img", "aria-label": `${tally.resolved} resolved, ${tally.running} running, ${tally.open} open, ${tally.parked} parked, ${tally.left} left behind or in reserve` },
        Object.entries(tally).map(([name, size]) => size ? h("span", { class: name, style: { "flex-grow": size } }) : null)),
      `${tally.resolved} resolved, ${tally.running} ${head.phase === "cut_short" ? "cut short" : "running"}, ${count(head.ready)} ready${head.parked ? `, ${count(head.parked)} parked` : ""}${tally.left ? `, ${tally.left} aside` : ""}`),
    fact(["Can still happen"], [head.phase === "completed" ? "nothing" : ["≤ ", count(head.bound)], head.phase === "completed" ? null : h("small", {}, ` ${head.bound === 1 ? "session" : "sessions"}`)], null,
      head.phase === "completed" ? "the run is completed" : head.phase === "stopped" ? "if it goes on" : "unless you redirect"),
    outcome(run),
    fact(["Time"], [h("span", { id: "clock" }, duration(run.seconds))], null, `iteration ${head.iteration} of ${head.max_iterations}`),
    spent.usd || spent.tokens
      ? fact(["Cost"], [spent.usd ? money(spent.usd, spent.estimated) : plural(spent.tokens, "token")], null, `${spent.usd ? `${plural(spent.tokens, "token")} in ` : "price unknown, "}${plural(spent.sessions, "session")}`)
      : fact(["Cost"], [spent.sessions ? "unknown" : "none"], null, spent.sessions ? `agents reported none, in ${plural(spent.sessions, "session")}` : "no session yet"));
}

// What came of it, or what there is to do for the user.
function outcome(run) {
  const head = run.head;
  if (head.phase === "completed") return fact(["Result"], ["done"], null, run.certificate?.holds ? `the certificate holds, commit ${run.certificate.commit.slice(0, 10)}` : head.reason, "good");
  if (head.phase === "stopped") return fact(["Result"], [result(head)], null, head.exit_code === null ? "" : `exit code ${head.exit_code}`, "bad");
  if (head.questions.length) return fact(["Next step"], ["your answer"], null, `${plural(head.questions.length, "question")} above the plan`);
  if (head.next) return fact(["Next step"], [head.phase === "pending" ? "begin" : "go on"], null, prose(head.next));
  if (head.phase === "running") return fact(["Next step"], ["none for you"], null, head.parked ? `it runs; ${plural(head.parked, "part")} parked` : "it runs by itself");
  return fact(["Next step"], [PHASES[head.phase]], null, head.phase === "paused" ? "a person is about to redirect it" : "sessions are being ended");
}

function fact(label, value, bar, more, tone = "") {
  return h("div", { class: `fact ${tone}` }, h("div", { class: "label" }, label), h("div", { class: "value" }, value), bar, h("div", { class: "more", title: typeof more === "string" ? more : null }, more));
}

export function tick(run) {
  const clock = the("clock");
  if (clock) clock.textContent = duration(run.seconds);
  const used = the("seconds-used");
  if (used) used.textContent = duration(run.seconds);
}

const NAMES = { iterations: "iterations", seconds: "time", usd: "money", tokens: "tokens", atoms: "atoms ever", verifications: "verifications", backjumps: "backjumps", winds: "winds", redirects: "redirects", forgiven: "forgiven" };

export function budgets(run) {
  const now = { iterations: run.head.iteration, seconds: run.seconds };
  put(the("budgets").querySelector(".body"), run.budgets.filter(({ name, spent, limit }) => spent || limit !== null || !["usd", "tokens"].includes(name)).map(({ name, spent: known, limit }) => {
    const spent = now[name] ?? known;
    const share = limit ? Math.min(1, spent / limit) : 0;
    const form = { seconds: duration, usd: money }[name] ?? count;
    return h("div", { class: "budget" },
      h("span", {}, NAMES[name] ?? words(name)),
      limit === null ? h("span", {}, "no limit") : h("div", { class: `bar ${share >= 1 ? "over" : share >= 0.8 ? "near" : ""}` }, h("span", { style: { width: `${share * 100}%` } })),
      h("span", {}, h("b", { id: name === "seconds" ? "seconds-used" : null }, form(spent)), limit === null ? "" : ` of ${form(limit)}`));
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
