// A run as the page knows it: the picture, and what has changed since.

import { GOING } from "./format.js";

const TOP = "";
const KEPT = 500;

export class Run {
  constructor() {
    this.ready = false;
    this.nodes = new Map();
    this.sessions = new Map();
  }

  // Returns what is different: a set of words that the views look for.
  hear(kind, data) {
    if (kind === "picture") return this.#picture(data);
    if (kind === "tails") { this.tails = data; return new Set(["tails"]); }
    if (kind === "record") { Object.assign(this, data); return new Set(["record"]); }
    if (kind === "change" && this.ready) return this.#change(data);
    return new Set();
  }

  #picture(data) {
    Object.assign(this, data);
    this.nodes = new Map(data.nodes.map((node) => [node.id, node]));
    this.sessions = new Map(data.sessions.map((session) => [session.nonce, session]));
    this.changed = [...this.nodes.keys()];
    this.removed = [];
    this.ready = true;
    const age = this.head.at ? Math.max(0, (Date.now() - Date.parse(this.head.at)) / 1000) : 0;
    this.#clock(age);
    return new Set(["all", "head", "shape", "nodes", "sessions", "points", "events", "tails", "record"]);
  }

  #change(data) {
    const news = new Set(["head", "nodes"]);
    this.head = data.head;
    this.changed = data.nodes.map((node) => node.id);
    this.removed = data.removed;
    if (data.removed.length) news.add("shape");
    for (const node of data.nodes) {
      const old = this.nodes.get(node.id);
      if (!old || shape(old) !== shape(node)) news.add("shape");
      this.nodes.set(node.id, node);
    }
    for (const name of data.removed) this.nodes.delete(name);
    for (const session of data.sessions) this.sessions.set(session.nonce, session);
    if (data.sessions.length) news.add("sessions");
    if (added(this.points, data.points) + added(this.marks, data.marks)) news.add("points");
    if (added(this.events, data.events)) news.add("events");
    if (this.events.length > KEPT) this.events.splice(0, this.events.length - KEPT);
    this.#clock(0);
    return news;
  }

  #clock(age) {
    this.heard = performance.now() - age * 1000;
  }

  // Seconds of the run, as its limit counts them.
  get seconds() {
    const going = GOING.includes(this.head.phase);
    return this.head.seconds + (going ? (performance.now() - this.heard) / 1000 : 0);
  }

  get running() {
    return this.head.running.map((nonce) => this.sessions.get(nonce)).filter(Boolean);
  }

  get isGraph() {
    return this.head.kind === "graph";
  }

  of(atom) {
    return [...this.sessions.values()].filter((session) => session.atom === atom);
  }

  above(name) {
    const found = [];
    for (let at = this.nodes.get(name)?.parent; at; at = this.nodes.get(at)?.parent) found.unshift(at);
    return found;
  }

  below(name) {
    let found = 0;
    for (const kid of this.nodes.get(name)?.children ?? []) found += 1 + this.below(kid);
    return found;
  }

  // Whole plan, parents before children, with how deep each stands.
  *walk(name = TOP, depth = 0) {
    const node = this.nodes.get(name);
    if (!node) return;
    if (name !== TOP) yield [node, depth];
    for (const kid of node.children) yield* this.walk(kid, name === TOP ? 0 : depth + 1);
  }
}

const shape = (node) => JSON.stringify([node.parent, node.children, node.depends_on, node.kind]);

function added(list, more) {
  const last = list.length ? list[list.length - 1].n : -1;
  const fresh = more.filter((one) => one.n > last);
  list.push(...fresh);
  return fresh.length;
}

export const OVER = ["resolved", "left", "failed"];

export const BAD = ["failed", "refused", "infeasible", "gaps"];

// What a person should see first: what failed, what runs, what is ready; what is over comes last.
export function rank(node, parent) {
  if (node.status === "failed" && parent?.status === "resolved") return 8;
  if (node.status === "failed" || node.undone) return 0;
  if (node.status === "running") return 2;
  if (node.status === "resolved") return 7;
  if (node.status === "left") return 8;
  if (!node.live) return 6;
  return node.attempts && !node.children.length ? 3 : node.standing === "ready" ? 4 : 5;
}

// The rank of every node; what holds something urgent is as urgent.
export function ranks(run) {
  const found = new Map();
  for (const node of [...run.nodes.values()].reverse()) {
    const own = rank(node, run.nodes.get(node.parent));
    found.set(node.id, OVER.includes(node.status) ? own : Math.min(own, ...node.children.map((kid) => found.get(kid) ?? 9)));
  }
  return found;
}

// Of what failed and is not done, what holds up most.
export function worst(run) {
  const found = [...run.nodes.values()].filter((node) => node.undone && run.of(node.id).length);
  return found.sort((one, other) => other.holds_up_count - one.holds_up_count)[0] ?? null;
}

// One word for how a node looks.
export function look(node) {
  if (node.status === "pending" && node.standing === "ready") return "ready";
  if (node.status === "pending" && node.standing === "reserve") return "reserve";
  return node.status;
}

// The run has ended because only parked work was left.
export const isStuck = (run) => ["or_exhausted", "atom_exhausted"].includes(run.head.stop_code);

// Why something is not done, how often it failed, and what waits for it.
export const often = (node) => node.failures && node.kind === "atom" ? `${node.undone}, failed ${node.failures === 1 ? "once" : `${node.failures} times`}, last: ` : "";
export const why = (node) => node.note || "no reason is on record";
export const more = (node) => node.holds_up_count > node.holds_up.length ? ` and ${node.holds_up_count - node.holds_up.length} more` : "";

export function title(node) {
  if (node.kind === "root") return "The base case";
  if (node.kind === "group") return node.speculative ? "a race between ways" : "one of these ways";
  if (node.kind === "unwritten") return "another way, not written yet";
  return node.description;
}

const WORDS = { ready: "ready to start", pending: "waiting", parked: "parked", reserve: "in reserve", unwritten: "not written yet", left: "left behind", failed: "given up", resolved: "resolved", running: "running" };

export function standing(node) {
  if (node.status === "pending" && node.children.length && node.kind === "atom") return "waiting for its parts";
  if (node.kind === "atom" && node.status === "failed" && node.standing === "exhausted") return "out of attempts";
  return WORDS[look(node)];
}
