/** The talk with a session: the turn of now, and what was said and answered before it. */

import type { Said, Turn } from "../../api/types";

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

/** The talk once a turn came, by an answer where there was one; an old turn changes nothing. */
export function follow(before: Talk | null, data: Turn, answer: string | null): Talk {
  if (before === null || before.turn.session !== data.session) return { turn: data, log: [] };
  const old = before.turn;
  if (data.seq < old.seq && answer === null) return before;
  if (data.seq === old.seq) {
    // What an answer led through is only said once; looking again has the last of it, or what an edit made of that.
    const isEdited = data.program !== old.program || data.said.at(-1)?.text !== old.said.at(-1)?.text;
    if (isEdited) return { ...before, turn: data };
    const said = old.said.length > data.said.length ? old.said : data.said;
    return { ...before, turn: { ...data, said } };
  }
  return { turn: data, log: [...before.log, { seq: old.seq, said: old.said, answer }].slice(-MOST) };
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
