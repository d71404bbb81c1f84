// Landing: which way is chosen, what it would do is shown, and only then it is done. Nothing is pushed or opened.

import { h, put, the } from "./dom.js";
import { field } from "./redirect.js";
import { ofRun, post } from "./server.js";

const STYLES = [
  ["keep", "Keep the commits", "they come along as they are: by a fast-forward where that is possible, else by a merge"],
  ["merge", "Merge", "they come along, always with a merge commit"],
  ["squash", "Squash", "one commit with all of the change"],
];

export class Land {
  constructor(tell) {
    this.tell = tell;
    this.place = the("dialog");
  }

  open(run) {
    this.run = run;
    this.isStopped = run.head.phase !== "completed";
    this.onto = h("input", { type: "text", maxlength: "250", placeholder: "the branch that the run began on", spellcheck: "false" });
    this.shown = h("div", { role: "status" });
    this.doit = h("button", { type: "button", class: "main", disabled: true, on: { click: () => this.#do() } }, "Land now");
    put(this.place, h("form", { method: "dialog", on: { submit: (event) => event.preventDefault(), change: () => this.#preview(), input: () => { this.doit.disabled = true; } } },
      h("h2", { id: "dialog-title" }, "Land the run"),
      h("p", { class: "hint" }, `${this.isStopped ? "The run is not completed: what is on its branch is landed, and nothing says that it is enough. " : ""}It changes a branch of this repository. Nothing is pushed, and nothing is opened.`),
      h("div", { class: "styles", role: "radiogroup", "aria-label": "How" }, STYLES.map(([key, label, what], at) => h("label", {}, h("input", { type: "radio", name: "style", value: key, checked: at === 0 }), h("span", {}, h("b", {}, label), h("span", { class: "hint" }, what))))),
      field("Onto", this.onto), this.shown,
      h("div", { class: "buttons" }, h("button", { type: "button", on: { click: () => this.place.close() } }, "Cancel"), this.doit)));
    this.place.showModal();
    this.#preview();
  }

  #asked(more) {
    return { style: this.place.querySelector("input[name=style]:checked").value, onto: this.onto.value, even_if_stopped: this.isStopped, ...more };
  }

  #show(text, bad) {
    put(this.shown, h("p", { class: `effect${bad ? " bad" : ""}` }, text));
  }

  // Of several answers on their way only the last counts.
  async #preview() {
    const mine = (this.waiting = {});
    this.doit.disabled = true;
    try {
      const { said } = await post(ofRun(this.run.head.run, "land"), this.#asked({ preview: true }));
      if (mine !== this.waiting) return;
      this.effect = said;
      this.#show(said.join("\n"), false);
      this.doit.disabled = false;
    } catch (error) { if (mine === this.waiting) this.#show([error.message, error.hint].filter(Boolean).join("\n"), true); }
  }

  async #do() {
    this.doit.disabled = true;
    try {
      const { said } = await post(ofRun(this.run.head.run, "land"), this.#asked({ effect: this.effect }));
      this.place.close();
      this.tell(said.join("\n"));
    } catch (error) {
      if (error.code === 409) { this.effect = error.said; this.doit.disabled = false; this.#show(`${error.message}:\n${error.said.join("\n")}`, true); }
      else this.#show([error.message, error.hint].filter(Boolean).join("\n"), true);
    }
  }
}
