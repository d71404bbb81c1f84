// The same rules as dwindle/text/amounts.py.
export function duration(seconds) {
  const from = Math.max(0, seconds);
  if (from < 10) return `${Number(from.toFixed(from < 1 ? 2 : 1))} s`;
  const whole = Math.floor(from);
  const parts = [[Math.floor(whole / 3600), "h"], [Math.floor(whole / 60) % 60, "min"], [whole % 60, "s"]];
  return parts.filter(([number]) => number).map(([number, unit]) => `${number} ${unit}`).join(" ");
}

export function count(number) {
  return Math.round(number).toLocaleString("en-US");
}

export function short(number) {
  if (number < 10000) return count(number);
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 1e5 ? 1 : 0)} k`;
  return `${(number / 1e6).toFixed(number < 1e8 ? 1 : 0)} M`;
}

export const money = (usd, estimated = false) => `${estimated ? "about " : ""}${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: usd > 0 && usd < 0.1 ? 4 : 2 })} USD`;

export function cost(tokens, usd, { estimated = false, unpriced = 0 } = {}) {
  const parts = [tokens ? plural(tokens, "token") : "", usd ? money(usd, estimated) : "", usd && unpriced ? `${plural(unpriced, "token")} of unknown price` : ""];
  return parts.filter(Boolean).join(", ");
}

export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

export function clock(at) {
  const when = at ? new Date(at) : null;
  if (!when || Number.isNaN(when.getTime())) return "";
  return when.toLocaleTimeString("en-GB");
}

export function day(at) {
  const when = at ? new Date(at) : null;
  if (!when || Number.isNaN(when.getTime())) return "";
  return when.toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

export const words = (name) => name.replaceAll("_", " ");

// Phases in which a runner is at work.
export const GOING = ["running", "paused", "stopping"];

export const PHASES = { pending: "not begun", running: "running", paused: "paused", stopping: "stopping", resting: "resting", cut_short: "cut short", stopped: "stopped", completed: "completed" };
