// One atom from near: what stands for it, what was tried, what changed, what was said, what judged it.

import { h, painted, put, say, steady, tabs, the } from "./dom.js";
import { clock, cost, duration, plural, short, words } from "./format.js";
import { BAD, look, more, standing, title, why } from "./run.js";
import { get, ofRun } from "./server.js";

const TABS = [["about", "About"], ["attempts", "Attempts"], ["diff", "Difference"], ["prompt", "Prompt"], ["log", "Log"], ["checks", "Checks"]];
const PACE = 700;
const LINES = 40;

export class Detail {
  constructor(graph, wish) {
    this.graph = graph;
    this.wish = wish;
    this.name = null;
    this.tab = "about";
    this.place = the("detail");
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !this.place.hidden && !the("dialog").open) this.close(); });
  }

  open(run, name, nonce = null) {
    if (!run.nodes.has(name)) return;
    if (this.place.hidden) this.before = document.activeElement;
    this.run = run;
    this.name = name;
    this.nonce = nonce;
    this.tab = nonce ? "log" : this.tab === "about" || !run.of(name).length ? "about" : this.tab;
    this.place.hidden = false;
    this.graph.choose(name);
    this.#frame();
    this.place.querySelector(".close").focus();
    say(`${name || "base case"} opened`);
  }

  close() {
    this.place.hidden = true;
    this.name = null;
    this.#quiet();
    this.graph.choose(null);
    this.before?.focus?.();
  }

  hear(run, news) {
    if (this.name === null) return;
    if (news.has("all") && this.run.head.run !== run.head.run) { this.close(); return; }
    this.run = run;
    if (!run.nodes.has(this.name)) { this.close(); return; }
    const touched = news.has("all") || run.changed.includes(this.name) || (news.has("sessions") && run.of(this.name).length !== this.known);
    if (touched && news.has("nodes")) this.#refresh();
  }

  // What is being read stays where it is; only facts are drawn again.
  #refresh() {
    this.#head();
    if (["about", "attempts", "checks"].includes(this.tab) || this.run.of(this.name).length !== this.known) this.#body();
  }

  #frame() {
    this.header = h("header");
    this.bar = h("div", { class: "tabs", role: "tablist", "aria-label": "About this atom" });
    this.body = h("div", { class: "body", role: "tabpanel", tabindex: "0" });
    put(this.place, this.header, this.bar, this.body);
    this.#head();
    this.#body();
  }

  #head() {
    const node = this.run.nodes.get(this.name);
    const way = [...this.run.above(this.name), this.name || "base case"].join(" › ");
    const focused = this.header.contains(document.activeElement);
    put(this.header, h("div", {}, h("p", { class: "path" }, way), h("h2", { id: "detail-title" }, title(node))),
      h("span", { class: `word ${look(node)}` }, standing(node)),
      h("button", { type: "button", class: "quiet icon close", "aria-label": "Close", on: { click: () => this.close() } }, "✕"));
    if (focused) this.header.querySelector(".close").focus();
  }

  #body() {
    this.#quiet();
    const tried = this.run.of(this.name);
    this.known = tried.length;
    const failed = this.#failed(this.run.nodes.get(this.name), tried);
    tabs(this.bar, TABS.map(([key, label]) => [key, key === "about" && failed ? "Why it failed" : label, key === "attempts" ? tried.length : 0]), this.tab, (key) => { this.tab = key; this.#body(); });
    if (["diff", "prompt", "log"].includes(this.tab)) this.#kept(tried);
    else steady(this.body, () => put(this.body, this[`_${this.tab}`](this.run.nodes.get(this.name), tried)));
  }

  _about(node, tried) {
    const spent = tried.reduce((sum, one) => [sum[0] + one.tokens, sum[1] + one.usd, sum[2] + (one.end ?? this.run.seconds) - one.start], [0, 0, 0]);
    const row = (label, ...value) => value.flat().some((one) => one) ? [h("dt", {}, label), h("dd", {}, value)] : [];
    const failed = this.#failed(node, tried);
    return [failed ? this.#failure(failed) : null, h("dl", {},
      row(node.undone === "failing" ? "Failed, last" : "Parked, last", node.undone ? why(node) : ""), row("Holds up", this.#links(node.holds_up), more(node)),
      row("Binding", node.binding?.summary),
      row("Artifacts", node.binding?.artifacts.join("\n")),
      row("Waits for", this.#links(node.depends_on)),
      row("Part of", node.parent ? this.#links([node.parent]) : null),
      row(node.kind === "group" ? "Choices" : "Parts", this.#links(node.children)),
      row("Taken", node.selected), row("Given up", this.#links(node.failed)),
      row("Split because", node.reason), row("Its check", node.check),
      row("Attempts", node.kind === "atom" && !node.children.length ? `${node.attempts} of ${node.max_attempts}` : ""),
      row("Spent", tried.length ? [plural(tried.length, "session"), duration(spent[2]), cost(spent[0], spent[1])].filter(Boolean).join(", ") : "")),
    h("div", { class: "deeds" }, this.#deeds(node))];
  }

  // The session that failed last, of something that is not done; work tells more than a look at it.
  #failed(node, tried) {
    if (node.status === "resolved" || node.status === "left") return null;
    const ended = tried.filter((one) => one.end !== null && BAD.includes(one.outcome));
    return ended.findLast((one) => one.role !== "probe") ?? ended[ended.length - 1] ?? null;
  }

  #failure(session) {
    const said = h("pre", { class: "text-of tail", tabindex: "0", "aria-label": "Why it failed" }, session.words || "No reason is on record.");
    const log = h("div", { class: "log" });
    requestAnimationFrame(() => { said.scrollTop = said.scrollHeight; });
    this.#lastLines(session, log);
    return h("section", { class: "failure" }, h("h3", {}, `The last attempt, ${clock(session.end_at)}: ${words(session.outcome)}`), said, log);
  }

  // The end of what the agent said; kept, because it does not change any more.
  async #lastLines(session, place) {
    this.ends ??= new Map();
    const key = `${this.run.head.run} ${session.nonce}`;
    try {
      if (!this.ends.has(key)) this.ends.set(key, await this.#lastOf(session));
    } catch { return; }
    const { lines, path } = this.ends.get(key);
    const text = h("pre", { class: "text-of tail", tabindex: "0", "aria-label": "The end of its log" }, lines.join("\n"));
    put(place, lines.length ? [h("h3", {}, "The end of its log"), text] : null,
      path ? h("p", { class: "hint" }, lines.length ? "all of it: " : "its log is empty: ", h("code", {}, path)) : h("p", { class: "hint" }, "No log was kept: the agent said nothing."));
    text.scrollTop = text.scrollHeight;
  }

  async #lastOf(session) {
    const parts = await get(ofRun(this.run.head.run, `sessions/${session.nonce}`));
    const logs = parts.filter((part) => ["log", "guard"].includes(part.kind));
    const part = logs.filter((one) => one.size > 0).pop() ?? logs.pop();
    if (!part) return { lines: [], path: "" };
    const found = await get(ofRun(this.run.head.run, `sessions/${session.nonce}/part?${new URLSearchParams({ name: part.name, start: -1 })}`));
    return { lines: found.text.trimEnd().split("\n").filter((line, at) => at || line).slice(-LINES), path: part.path };
  }

  #links(names) {
    return names.map((name, at) => [at ? ", " : "", h("button", { type: "button", class: "link mono", on: { click: () => this.open(this.run, name) } }, name)]).flat();
  }

  #deeds(node) {
    const deed = (label, edit) => h("button", { type: "button", on: { click: () => this.wish(edit) } }, label);
    const folds = node.children.length && node.kind !== "root" ? h("button", { type: "button", on: { click: () => { this.graph.toggle(node.id); this.#body(); } } }, this.graph.isFolded(node) ? "Unfold its parts" : "Fold its parts") : null;
    if (!this.run.isGraph || node.kind === "root") return [folds];
    const parent = this.run.nodes.get(node.parent);
    return [folds,
      parent?.kind === "group" && parent.selected !== node.id ? deed(`Take this one for ${parent.id}`, { kind: "ForceChoice", group: parent.id, choice: node.id }) : null,
      node.kind === "group" ? deed("Add another way", { kind: "AddAtom", place: `choice:${node.id}` }) : null,
      node.kind === "atom" && node.status === "resolved" && !node.children.length ? deed("Correct its binding", { kind: "OverrideBinding", atom: node.id, summary: node.binding?.summary ?? "" }) : null,
      node.kind === "atom" ? deed("Add what comes after", { kind: "AddAtom", depends_on: node.id }) : null,
      node.kind === "atom" && node.status !== "resolved" ? deed("Remove", { kind: "RemoveAtom", atom: node.id }) : null];
  }

  _attempts(_, tried) {
    if (!tried.length) return h("p", { class: "empty" }, "No session has worked on this yet; what it waits for stands under About.");
    return [...tried].reverse().map((one) => h("div", { class: "attempt" },
      h("div", { class: "line" }, h("span", { class: `word ${one.outcome}` }, words(one.outcome)), h("span", {}, `${one.role}, iteration ${one.iteration}`), h("span", {}, clock(one.start_at)), h("span", {}, duration((one.end ?? this.run.seconds) - one.start)), one.tokens || one.usd ? h("span", {}, cost(one.tokens, one.usd, one)) : null, one.guard ? h("span", {}, `guard: ${one.guard}`) : null),
      one.words ? h(BAD.includes(one.outcome) ? "pre" : "div", { class: "words" }, one.words) : null,
      h("div", { class: "parts" }, [["log", "Log"], ["prompt", "Prompt"], ["diff", "Difference"]].map(([key, label]) => h("button", { type: "button", on: { click: () => { this.nonce = one.nonce; this.tab = key; this.#body(); } } }, label)))));
  }

  _checks(node, tried) {
    const own = this.name === "" ? this.run.base_case.map((check) => `${"  ".repeat(check.depth)}${check.item}${check.command ? `\n${"  ".repeat(check.depth)}  ${check.type}: ${check.command}` : ""}`).join("\n") : node.check;
    return [h("dl", {}, h("dt", {}, "Judged by"), h("dd", {}, own || "no check of its own: something has to have changed")),
      [...tried].reverse().filter((one) => one.end !== null).map((one) => h("div", { class: "attempt" },
        h("div", { class: "line" }, h("span", { class: `word ${one.outcome}` }, words(one.outcome)), h("span", {}, clock(one.end_at))),
        h(BAD.includes(one.outcome) ? "pre" : "div", { class: "words" }, one.words || "nothing was said")))];
  }

  // Prompt, log, difference: of one session, the last unless another is picked.
  async #kept(tried) {
    const mine = (this.reading = {});
    const session = tried.find((one) => one.nonce === this.nonce) ?? tried[tried.length - 1];
    if (!session) { put(this.body, h("p", { class: "empty" }, "No session has worked on this yet.")); return; }
    const pick = tried.length < 2 ? null : h("div", { class: "parts", role: "group", "aria-label": "Which session" }, tried.map((one, at) => h("button", { type: "button", "aria-pressed": String(one === session), on: { click: () => { this.nonce = one.nonce; this.#body(); } } }, `${at + 1}: ${words(one.outcome)}`)));
    const text = h("pre", { class: "text-of", tabindex: "0", "aria-label": this.tab });
    put(this.body, pick, text);
    try {
      const parts = await get(ofRun(this.run.head.run, `sessions/${session.nonce}`));
      const kinds = { diff: ["diff"], prompt: ["prompt"], log: ["log", "guard"] }[this.tab];
      const found = parts.filter((part) => kinds.includes(part.kind));
      if (mine !== this.reading) return;
      if (!found.length) { put(text, h("span", { class: "empty" }, nothing(this.tab, session))); return; }
      for (const part of found) {
        if (found.length > 1) text.append(h("span", { class: "at" }, `— ${part.name} —\n`));
        await this.#show(mine, text, session, part, found.length === 1 && this.tab === "log");
      }
    } catch (error) { if (mine === this.reading) put(text, h("span", { class: "empty" }, error.message)); }
  }

  async #show(mine, text, session, part, follow) {
    let start = follow ? -1 : 0, first = true;
    for (;;) {
      const found = await get(ofRun(this.run.head.run, `sessions/${session.nonce}/part?${new URLSearchParams({ name: part.name, start })}`));
      if (mine !== this.reading) return;
      if (found.text) {
        const atEnd = text.scrollTop + text.clientHeight > text.scrollHeight - 40;
        if (first && found.start) text.append(h("span", { class: "at" }, `[${short(found.start)} bytes before]\n`));
        text.append(...(this.tab === "diff" ? painted(found.text) : [found.text]));
        if (follow && (first || atEnd)) text.scrollTop = text.scrollHeight;
      } else if (first && found.size === 0) text.append(h("span", { class: "empty" }, session.end === null ? "It has said nothing yet." : "It said nothing."));
      first = false;
      start = found.end;
      if (!follow || this.run.sessions.get(session.nonce)?.end !== null) {
        if (!follow && found.end < found.size) text.append(h("span", { class: "at" }, `\n[${short(found.size - found.end)} bytes more]`));
        if (!follow || found.end >= found.size) return;
      }
      await new Promise((next) => { this.timer = setTimeout(next, found.end < found.size ? 0 : PACE); });
      if (mine !== this.reading) return;
    }
  }

  #quiet() {
    this.reading = null;
    clearTimeout(this.timer);
  }
}

function nothing(tab, session) {
  if (tab === "diff") return session.end === null ? "It is still at work; what it changes is kept when it ends." : "Nothing of this was kept.";
  return "Nothing of this was kept.";
}
