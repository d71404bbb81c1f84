// Changing direction: edits are collected, their effect is shown, and only then are they made.

import { h, put, the } from "./dom.js";
import { words } from "./format.js";
import { post, ofRun, token } from "./server.js";

const LIMITS = ["max_iterations", "max_parallel_agents", "max_stall_count", "max_atoms", "max_depth", "max_attempts", "max_probes", "max_verifications", "max_forgiven", "max_backjumps", "max_winds", "max_wall_seconds", "max_tokens", "max_cost_usd", "session_timeout_seconds"];
const KINDS = { AddAtom: "Add an atom", RemoveAtom: "Remove an atom", ForceChoice: "Take another way", SetLimit: "Change a limit", OverrideBinding: "Correct a binding", ChangeObjective: "Change the objective" };

export class Redirect {
  constructor(tell) {
    this.tell = tell;
    this.place = the("dialog");
  }

  open(run, edit = { kind: "AddAtom" }) {
    this.run = run;
    this.edits = [];
    this.effect = null;
    this.#frame(edit);
    this.place.showModal();
    this.fields.querySelector("input, textarea, select")?.focus();
  }

  #frame(edit) {
    this.fields = h("div", { style: { display: "grid", gap: "12px" } });
    this.list = h("ul", { class: "edits", "aria-label": "Edits so far" });
    this.shown = h("div", { role: "status" });
    this.why = h("input", { type: "text", maxlength: "2000", placeholder: "a sentence for the record" });
    this.kind = h("select", { on: { change: () => this.#fieldsFor({ kind: this.kind.value }) } }, Object.entries(KINDS).map(([key, label]) => h("option", { value: key }, label)));
    this.kind.value = edit.kind;
    this.doit = h("button", { type: "button", class: "grave", disabled: true, on: { click: () => this.#do() } }, "Redirect now");
    put(this.place, h("form", { method: "dialog", on: { input: () => this.#changed(), submit: (event) => event.preventDefault() } },
      h("h2", { id: "dialog-title" }, "Change direction"),
      h("p", { class: "hint" }, `Running sessions are ended and what they were charged is given back. ${this.#left()}`),
      this.list, field("What should change", this.kind), this.fields, field("Why", this.why), this.shown,
      h("div", { class: "buttons" },
        h("button", { type: "button", on: { click: () => this.place.close() } }, "Cancel"),
        h("button", { type: "button", on: { click: () => this.#more() } }, "And another"),
        h("button", { type: "button", class: "main", on: { click: () => this.#preview() } }, "Show the effect"), this.doit)));
    this.#fieldsFor(edit);
  }

  #left() {
    const budget = this.run.budgets.find((one) => one.name === "redirects");
    return budget ? `Each scope costs one redirect; ${budget.limit - budget.spent} are left.` : "";
  }

  #fieldsFor(edit) {
    const atoms = [...this.run.nodes.values()];
    const names = (keep) => atoms.filter(keep).map((node) => [node.id, `${node.id}  ${node.description}`.slice(0, 70)]);
    const groups = atoms.filter((node) => node.kind === "group");
    const pick = (name, label, options, value) => [name, label, select(name, options, value)];
    const text = (name, label, value = "", more = {}) => [name, label, h("input", { name, type: "text", value, maxlength: "4000", ...more })];
    const area = (name, label, value = "") => [name, label, h("textarea", { name, value, maxlength: "4000" })];
    const forms = {
      AddAtom: () => [area("description", "What is to be done"), text("depends_on", "Waits for (ids, separated by commas)", edit.depends_on ?? ""),
        pick("place", "Where", [["", "at the top"], ...names((node) => node.kind === "atom").map(([id, label]) => [`part:${id}`, `part of ${label}`]), ...groups.map((node) => [`choice:${node.id}`, `another way for ${node.id}`])], edit.place ?? "")],
      RemoveAtom: () => [pick("atom", "Which", names((node) => node.kind === "atom" && node.status !== "resolved"), edit.atom)],
      ForceChoice: () => [pick("pick", "Which way", groups.flatMap((group) => group.children.map((choice) => [`${group.id}=${choice}`, `${group.id}: ${choice}  ${this.run.nodes.get(choice)?.description ?? ""}`.slice(0, 70)])), edit.group ? `${edit.group}=${edit.choice}` : undefined)],
      SetLimit: () => [pick("name", "Limit", LIMITS.map((name) => [name, words(name)]), edit.name), text("value", "Its new value", edit.value ?? "", { inputmode: "decimal" })],
      OverrideBinding: () => [pick("atom", "Which", names((node) => node.kind === "atom" && node.status === "resolved"), edit.atom), area("summary", "What it really came to", edit.summary)],
      ChangeObjective: () => [area("goal", "Another goal (empty: as it is)"), text("command", "Another base case: one command (empty: as it is)"), text("reopen", "To be done again (ids, separated by commas)")],
    };
    put(this.fields, forms[edit.kind]().map(([, label, input]) => field(label, input)));
    this.#changed();
  }

  // The edit in the journal's form; null if nothing was filled in.
  #edit() {
    const all = Object.fromEntries([...this.fields.querySelectorAll("[name]")].map((input) => [input.name, input.value.trim()]));
    const kind = this.kind.value, ids = (text) => text.split(/[\s,]+/).filter(Boolean);
    if (kind === "AddAtom") {
      if (!all.description) return null;
      const [where, target] = split(all.place, ":");
      return { kind, new: { description: all.description, depends_on: ids(all.depends_on) }, ...(where === "part" ? { parent: target } : where === "choice" ? { group: target } : {}) };
    }
    if (kind === "ForceChoice") { const [group, choice] = split(all.pick, "="); return choice ? { kind, group, choice } : null; }
    if (kind === "SetLimit") return all.value && !Number.isNaN(Number(all.value)) ? { kind, name: all.name, value: Number(all.value) } : null;
    if (kind === "OverrideBinding") return all.atom && all.summary ? { kind, atom: all.atom, summary: all.summary } : null;
    if (kind === "RemoveAtom") return all.atom ? { kind, atom: all.atom } : null;
    const change = { ...(all.goal ? { goal: all.goal } : {}), ...(all.command ? { base_case: { check: { type: "command", value: all.command } } } : {}), ...(all.reopen ? { reopen: ids(all.reopen) } : {}) };
    return Object.keys(change).length ? { kind, ...change } : null;
  }

  #changed() {
    this.effect = null;
    if (this.doit) this.doit.disabled = true;
  }

  #more() {
    const edit = this.#edit();
    if (!edit) { this.#show("Fill this one in first.", true); return; }
    this.edits.push(edit);
    this.#fieldsFor({ kind: this.kind.value });
    this.#listed();
    put(this.shown);
  }

  #listed() {
    put(this.list, this.edits.map((edit, at) => h("li", {}, h("span", {}, inWords(edit)), h("button", { type: "button", class: "link", "aria-label": `Take back: ${inWords(edit)}`, on: { click: () => { this.edits.splice(at, 1); this.#listed(); this.#changed(); } } }, "take back"))));
  }

  #all() {
    const last = this.#edit();
    return last ? [...this.edits, last] : this.edits;
  }

  #show(text, bad) {
    put(this.shown, h("p", { class: `effect${bad ? " bad" : ""}` }, text));
    this.shown.scrollIntoView({ block: "nearest" });
  }

  async #preview() {
    const edits = this.#all();
    if (!edits.length) { this.#show("Nothing is filled in yet.", true); return; }
    if (!token()) { this.#show("To act, open the link that `dwindle serve` printed.", true); return; }
    try {
      const { said } = await post(ofRun(this.run.head.run, "preview"), { edits, why: this.why.value });
      this.effect = said;
      this.#show(said.join("\n"), false);
      this.doit.disabled = false;
    } catch (error) { this.#show([error.message, error.hint].filter(Boolean).join("\n"), true); }
  }

  async #do() {
    this.doit.disabled = true;
    try {
      const { said } = await post(ofRun(this.run.head.run, "redirect"), { edits: this.#all(), why: this.why.value, effect: this.effect });
      this.place.close();
      this.tell(said[said.length - 1]);
    } catch (error) {
      if (error.code === 409) { this.effect = error.said; this.doit.disabled = false; this.#show(`${error.message}:\n${error.said.join("\n")}`, true); }
      else this.#show([error.message, error.hint].filter(Boolean).join("\n"), true);
    }
  }
}

// A short question with one field; resolves to what was said, or to null.
export function ask(title, hint, label, act, grave) {
  const place = the("dialog");
  const input = h("input", { type: "text", maxlength: "2000" });
  return new Promise((answer) => {
    const done = (value) => { answer(value); place.close(); };
    put(place, h("form", { method: "dialog", on: { submit: (event) => { event.preventDefault(); done(input.value); } } },
      h("h2", { id: "dialog-title" }, title), h("p", { class: "hint" }, hint), field(label, input),
      h("div", { class: "buttons" }, h("button", { type: "button", on: { click: () => done(null) } }, "Cancel"), h("button", { type: "submit", class: grave ? "grave" : "main" }, act))));
    place.addEventListener("close", () => answer(null), { once: true });
    place.showModal();
    input.focus();
  });
}

export const field = (label, input) => h("label", { class: "field" }, label, input);

function select(name, options, value) {
  const made = h("select", { name }, options.map(([key, label]) => h("option", { value: key }, label)));
  if (value !== undefined) made.value = value;
  return made;
}

function split(text, by) {
  const at = (text ?? "").indexOf(by);
  return at < 0 ? ["", ""] : [text.slice(0, at), text.slice(at + 1)];
}

function inWords(edit) {
  switch (edit.kind) {
    case "AddAtom": return `add: ${edit.new.description}`;
    case "RemoveAtom": return `remove ${edit.atom}`;
    case "ForceChoice": return `take ${edit.choice} for ${edit.group}`;
    case "SetLimit": return `${words(edit.name)}: ${edit.value}`;
    case "OverrideBinding": return `${edit.atom} came to: ${edit.summary}`;
    default: return `objective: ${[edit.goal, edit.base_case?.check.value, edit.reopen?.join(", ")].filter(Boolean).join("; ")}`;
  }
}
