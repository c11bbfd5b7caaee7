/** Results of tools, as they come over the bridge. */

import { isMapping, Problem } from "../api/problem";
import type { Json, JsonObject, Stop, Turn } from "../api/types";

/** The key of the whole turn, in the metadata of a result. */
const TURN = "trellis/turn";

function isTurn(value: Json | undefined): value is JsonObject & Pick<Turn, "session" | "seq" | "said" | "stop"> {
  if (!isMapping(value)) return false;
  const { session, seq, said, stop } = value;
  return typeof session === "string" && typeof seq === "number" && Array.isArray(said) && isMapping(stop);
}

/** The turn that a result tells of. */
export function turnOf(result: JsonObject): Turn | null {
  const { _meta: meta, structuredContent: told } = result;
  const turn = isMapping(meta) ? meta[TURN] : undefined;
  const known = { graph: "", program: "", node: "", standing: "", now: Date.now(), due: null, happened: [] };
  if (isTurn(turn)) return { ...known, ...turn };
  // Where a host keeps metadata to itself, texts are shown as they were written.
  return isTurn(told) ? { ...known, ...told } : null;
}

/** The text of a result, as a model reads it. */
export function textOf({ content }: JsonObject): string {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.flatMap((block) => (isMapping(block) && typeof block.text === "string" ? [block.text] : [])).join("\n\n");
}

/** Why a tool did nothing. */
export function problemOf(result: JsonObject): Problem {
  const { structuredContent: told } = result;
  if (isMapping(told) && typeof told.code === "string") return new Problem(typeof told.status === "number" ? told.status : 500, told);
  return new Problem(500, { title: "The call failed", detail: textOf(result), code: "call" });
}

/** Whether a session goes on by itself. */
export function goesOn(turn: Turn): boolean {
  return (turn.stop.type === "RUNNING" || turn.stop.type === "SLEEPING") && turn.paused !== true;
}

/** Whether the model of the chat has the next word. */
export function isForModel(stop: Stop): boolean {
  return stop.type === "END" || stop.type === "CALL_TOOL";
}
