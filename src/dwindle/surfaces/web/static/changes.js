// What the run changed, for the person who reviews it: by atom, tests that came and went, what the gate held fast.

import { h, painted, prose, put } from "./dom.js";
import { count, plural } from "./format.js";
import { get, ofRun } from "./server.js";

export class Changes {
  constructor(open, drawn) {
    this.open = open;
    this.drawn = drawn;
    this.known = "";
    this.found = null;
    this.opened = new Set();
    this.lines = new Map();
  }

  // Asked for again only when something may have come to the branch.
  async show(place, run) {
    const key = JSON.stringify([run.head.run, run.head.resolved, run.head.phase, run.head.kind === "tree" ? run.head.iteration : 0]);
    if (key === this.known) { this.#draw(place, run); return; }
    if (this.run !== run.head.run) { this.found = null; this.opened.clear(); }
    this.run = run.head.run;
    this.known = key;
    this.lines.clear();
    if (this.found) this.#draw(place, run);
    else put(place, h("p", { class: "empty" }, "Asking git …"));
    let found;
    try { found = await get(ofRun(run.head.run, "changes")); } catch (error) { found = { error }; }
    if (key !== this.known) return;
    this.found = found;
    this.drawn();
  }

  #draw(place, run) {
    const made = this.found;
    if (!made) return;
    if (made.error) { put(place, h("p", { class: "empty" }, prose(`There is nothing to review: ${made.error.message}. ${made.error.hint ?? ""}`))); return; }
    if (!made.files.length && !made.held.length) { put(place, h("p", { class: "empty" }, "Nothing has changed so far: no work of this run is on its branch.")); return; }
    put(place,
      h("p", { class: "sum" }, h("b", {}, plural(made.files.length, "file")), ` changed, `, ...sums(made), made.tests_added.length || made.tests_removed.length ? `; tests: ${count(made.tests_added.length)} added, ${count(made.tests_removed.length)} removed` : ""),
      h("p", { class: "hint" }, h("code", {}, `git diff ${made.base.slice(0, 12)} ${made.tip.slice(0, 12)}`)),
      held(made.held, this.open),
      tests("Tests removed", made.tests_removed, "del"), tests("Tests added", made.tests_added, "add"),
      h("h3", {}, "By atom"),
      made.atoms.map((one) => this.#atom(run, one)),
      this.#folded(run, "all", h("b", {}, "Every line of the run"), () => this.#text(run, "all", {})));
  }

  #atom(run, one) {
    const name = one.atom || "no session";
    const most = Math.max(1, ...this.found.atoms.map((other) => other.added + other.removed));
    const head = h("span", { class: "stat" }, h("b", { class: "mono" }, name), h("span", { class: "what" }, one.atom ? one.title : "commits that a person put on the branch"),
      h("span", { class: "hint" }, plural(one.files.length, "file")), ...sums(one),
      h("span", { class: "stat-bar", "aria-hidden": "true" }, h("i", { class: "add", style: { width: `${(60 * one.added) / most}px` } }), h("i", { class: "del", style: { width: `${(60 * one.removed) / most}px` } })));
    return this.#folded(run, `atom ${one.atom}`, head, () => [
      h("ul", { class: "files" }, one.files.map((file) => h("li", {},
        h("code", {}, file.path), ...(file.added === null ? [h("span", { class: "hint" }, "binary")] : sums(file)),
        file.became === "changed" ? null : h("span", { class: `word ${file.became === "removed" ? "failed" : "passed"}` }, file.became),
        file.kind === "other" ? null : h("span", { class: "word" }, file.kind)))),
      one.atom && run.nodes.has(one.atom) ? h("p", {}, h("button", { type: "button", class: "link", on: { click: () => this.open(one.atom) } }, `About ${one.atom}`)) : null,
      one.atom ? this.#text(run, `atom ${one.atom}`, { atom: one.atom }) : null]);
  }

  // What is in it is made when it is opened.
  #folded(run, key, head, inside) {
    const open = this.opened.has(key);
    const made = h("details", { class: "change", open, data: { key }, on: { toggle: () => {
      if (made.open === this.opened.has(key)) return;
      if (made.open) { this.opened.add(key); made.append(...[inside()].flat(Infinity).filter(Boolean)); } else { this.opened.delete(key); while (made.lastChild !== made.firstChild) made.lastChild.remove(); }
    } } }, h("summary", {}, head), open ? inside() : null);
    return made;
  }

  #text(run, key, asked) {
    const place = h("pre", { class: "text-of", tabindex: "0", "aria-label": "The lines that changed" }, this.lines.get(key) ? painted(this.lines.get(key)) : "…");
    if (!this.lines.has(key)) this.#load(run, key, asked, place);
    return place;
  }

  async #load(run, key, asked, place) {
    try {
      const { text, is_cut: isCut } = await get(ofRun(run.head.run, `patch?${new URLSearchParams(asked)}`));
      this.lines.set(key, `${text}${isCut ? "\n[the rest is left out; `dwindle diff` has all of it]\n" : ""}` || "Nothing.");
      put(place, painted(this.lines.get(key)));
    } catch (error) { put(place, error.message); }
  }
}

const sums = (one) => [h("span", { class: "add" }, `+${count(one.added)}`), " ", h("span", { class: "del" }, `−${count(one.removed)}`)];

function held(list, open) {
  if (!list.length) return null;
  return h("section", { class: "held" }, h("h3", {}, "Held fast or set aside by the gate"), h("ul", {}, list.map((one) => h("li", {},
    one.atom ? h("button", { type: "button", class: "link mono", on: { click: () => open(one.atom) } }, one.atom) : null, ` session ${one.session}: ${one.why}`,
    one.paths.length ? h("div", { class: "mono" }, one.paths.join("\n")) : null,
    one.ref ? h("div", { class: "hint" }, "kept at ", h("code", {}, one.ref)) : null))));
}

function tests(title, list, kind) {
  if (!list.length) return null;
  return h("section", {}, h("h3", { class: kind }, `${title}: ${count(list.length)}`), h("ul", { class: "tests" }, list.map((one) => h("li", { class: "mono" }, `${one.path}  ${one.name}`))));
}
