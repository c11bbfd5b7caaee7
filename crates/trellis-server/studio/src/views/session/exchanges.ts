/** The talk with a session: the turn of now, and what was said and answered before it. */

import type { Said, Stop, Turn, Waiting } from "../../api/types";

/** The longest log of a page. */
const MOST = 200;

/** What was said before, and what somebody answered. */
export interface Exchange {
  seq: number;
  said: Said[];
  answer: string | null;
}

export interface Talk {
  turn: Turn;
  log: Exchange[];
}

type Place = Pick<Waiting, "child" | "stop">;

/** A place in the tree where an answer belongs: a session of it, or one of its calls. It stays where a question is asked anew. */
export function placeOf({ child, stop }: Place): string {
  const call = stop.type === "APPROVAL" || stop.type === "CALL_TOOL" || stop.type === "PREDICATE" ? stop.payload.id : "";
  return [child ?? "", stop.type, call].join(" ");
}

/** What tells a stop from the next one of its kind at a place. */
function momentOf({ type, payload }: Stop): number | string {
  if (type === "RUNNING") return `${payload.node} ${payload.since}`;
  if (type === "SLEEPING") return `${payload.node} ${payload.until}`;
  return "seq" in payload ? payload.seq : "";
}

/** What is asked at a place, until it is asked anew. */
function askOf(place: Place): string {
  return `${placeOf(place)} ${momentOf(place.stop)}`;
}

/** What waits in the tree of a session, the first one first. */
function waitingIn(turn: Turn): Place[] {
  return [turn, ...(turn.others ?? [])];
}

/** The sessions of a tree that still ask what they asked before; the tree's root is `undefined`. */
function unanswered(old: Turn, now: Turn): Set<string | undefined> {
  const before = new Set(waitingIn(old).map(askOf));
  return new Set(waitingIn(now).filter((place) => before.has(askOf(place))).map(({ child }) => child));
}

/** What was said last in a session of the tree. */
export function lastOf(said: Said[], child: string | undefined): Said | undefined {
  return said.findLast((text) => text.child === child);
}

/** What was said, with what is still asked from before: an answer brings only what it led to. */
function withAsked(said: Said[], before: Said[], open: Set<string | undefined>): Said[] {
  const kept = [...open].filter((child) => lastOf(said, child) === undefined).map((child) => lastOf(before, child));
  return [...kept.filter((text) => text !== undefined), ...said];
}

/** What a turn says that the one before did not: what is asked still was told then. */
export function newsOf(old: Turn, now: Turn): Turn {
  const open = unanswered(old, now);
  return { ...now, said: now.said.filter(({ child }) => !open.has(child)) };
}

/** The talk once a turn came, by an answer where there was one; an old turn changes nothing. */
export function follow(before: Talk | null, data: Turn, answer: string | null): Talk {
  if (before === null || before.turn.session !== data.session) return { turn: data, log: [] };
  const old = before.turn;
  if (data.seq < old.seq && answer === null) return before;
  const open = unanswered(old, data);
  if (data.seq === old.seq) {
    // What an answer led through is only said once; looking again has the last of it, or what an edit made of that.
    const isReworded = ({ child }: Said): boolean => {
      const [known, now] = [lastOf(old.said, child), lastOf(data.said, child)];
      return known !== undefined && known.text !== now?.text;
    };
    if (data.program !== old.program || data.said.some(isReworded)) return { ...before, turn: data };
    const [more, fewer] = old.said.length > data.said.length ? [old.said, data.said] : [data.said, old.said];
    return { ...before, turn: { ...data, said: withAsked(more, fewer, open) } };
  }
  const turn = { ...data, said: withAsked(data.said, old.said, open) };
  // What is asked still is no past.
  const isAsked = (text: Said): boolean => open.has(text.child) && lastOf(old.said, text.child) === text && lastOf(turn.said, text.child)?.text === text.text;
  const said = old.said.filter((text) => !isAsked(text));
  const log = said.length === 0 && answer === null ? before.log : [...before.log, { seq: old.seq, said, answer }].slice(-MOST);
  return { turn, log };
}

/** A turn in words, for screen readers. */
export function textOf(turn: Turn): string {
  const said = turn.said.map(({ text }) => text).join(" ");
  if (turn.stop.type === "APPROVAL") return `${said} An approval is needed: ${turn.stop.payload.name}`;
  if (turn.stop.type === "END") return `${said} The session ${turn.stop.payload.reason.replaceAll("_", " ")}`;
  return said;
}

/** Whether a turn is told at once, whatever is read out. */
export function isUrgent(turn: Turn): boolean {
  return turn.stop.type === "APPROVAL" || (turn.stop.type === "END" && turn.stop.payload.reason !== "finished");
}

/** Whether a reply belongs to exactly the question that was asked at a number. */
export function isQuestion(body: object): boolean {
  return "input" in body || "context" in body || "keep" in body;
}
