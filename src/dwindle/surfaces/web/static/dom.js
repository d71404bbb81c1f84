// Everything that is shown passes through here as text. Nothing becomes markup, no matter who wrote it.

const SVG = "http://www.w3.org/2000/svg";

export function h(name, facts = {}, ...children) {
  return filled(document.createElement(name), facts, children);
}

export function s(name, facts = {}, ...children) {
  return filled(document.createElementNS(SVG, name), facts, children);
}

function filled(element, facts, children) {
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [kind, act] of Object.entries(value)) element.addEventListener(kind, act);
    else if (name === "style") for (const [key, word] of Object.entries(value)) element.style.setProperty(key, word);
    else if (name === "data") for (const [key, word] of Object.entries(value)) element.dataset[key] = word;
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function put(place, ...children) {
  place.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

// Draws again and leaves the keyboard where it was.
export function steady(place, draw) {
  const all = () => [...place.querySelectorAll("button, summary, input")];
  const at = all().indexOf(document.activeElement);
  draw();
  if (at >= 0) all()[at]?.focus({ preventScroll: true });
}

// A sentence in which commands stand in backquotes.
export function prose(text) {
  return text.split("`").map((piece, at) => at % 2 ? h("code", {}, piece) : piece);
}

// The lines of a difference, as git writes them.
export function painted(text) {
  return text.split(/(?<=\n)/).map((line) => {
    const kind = line.startsWith("@@") ? "at" : line.startsWith("+") && !line.startsWith("+++") ? "add" : line.startsWith("-") && !line.startsWith("---") ? "del" : "";
    return kind ? h("span", { class: kind }, line) : line;
  });
}

export const the = (id) => document.getElementById(id);

export function say(text) {
  the("said").textContent = text;
}

// Tabs that arrow keys move through, as a screen reader expects them.
export function tabs(bar, names, chosen, choose) {
  const buttons = names.map(([key, label, count]) =>
    h("button", { type: "button", role: "tab", id: `${bar.id || "detail"}-${key}`, "aria-selected": String(key === chosen), tabindex: key === chosen ? "0" : "-1", data: { key }, on: { click: () => choose(key) } },
      label, count ? h("span", { class: "count" }, String(count)) : null));
  const focused = bar.contains(document.activeElement);
  put(bar, buttons);
  bar.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = names.findIndex(([key]) => key === chosen);
    choose(names[(at + step + names.length) % names.length][0]);
    bar.querySelector('[aria-selected="true"]')?.focus();
  };
  if (focused) bar.querySelector('[aria-selected="true"]')?.focus();
}
