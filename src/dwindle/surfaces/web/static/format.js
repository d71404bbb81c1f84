export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

export function count(number) {
  return Math.round(number).toLocaleString("en-US");
}

export function short(number) {
  if (number < 10000) return count(number);
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 1e5 ? 1 : 0)} k`;
  return `${(number / 1e6).toFixed(number < 1e8 ? 1 : 0)} M`;
}

export const money = (usd) => `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: usd && usd < 1 ? 3 : 2 })}`;

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

export const PHASES = { pending: "not begun", running: "running", paused: "paused", stopping: "stopping", resting: "resting", cut_short: "cut short", stopped: "stopped", completed: "completed" };
