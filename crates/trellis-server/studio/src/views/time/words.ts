/** What a record says, in one row. */

import { isMapping } from "../../api/client";
import type { SessionRecord } from "../../api/types";
import type { IconName } from "../../ui/icons";
import { brief } from "../../ui/value";

export interface RecordWords {
  icon: IconName;
  kind: string;
  /** What was handed in. */
  given: string;
  tone: string;
}

function resultWords(record: SessionRecord): RecordWords {
  const result = record.result ?? {};
  const outcome = isMapping(result.outcome) ? result.outcome : {};
  if ("denied" in outcome) return { icon: "denied", kind: "denied", given: typeof outcome.denied === "string" ? outcome.denied : "", tone: "tone-denied" };
  if ("error" in outcome) {
    const error = outcome.error;
    return { icon: "failed", kind: "error", given: isMapping(error) ? brief(error.message) : brief(error), tone: "tone-failed" };
  }
  return { icon: "act", kind: "result", given: brief(outcome.success), tone: "" };
}

function inputWords(record: SessionRecord): RecordWords {
  const { input } = record;
  if (!isMapping(input)) return { icon: "pass", kind: "passes", given: "", tone: "" };
  return { icon: "listen", kind: "answer", given: brief(input.text ?? input.value), tone: "" };
}

function endWords(record: SessionRecord): RecordWords {
  const ended = record.ended ?? {};
  const reason = typeof ended.reason === "string" ? ended.reason : "ended";
  const looks: Record<string, { icon: IconName; tone: string }> = {
    failed: { icon: "failed", tone: "tone-failed" },
    denied: { icon: "denied", tone: "tone-denied" },
    rolled_back: { icon: "rolled_back", tone: "tone-rolled-back" },
  };
  const { icon, tone } = looks[reason] ?? { icon: "finished" as const, tone: "tone-finished" };
  return { icon, kind: reason.replaceAll("_", " "), given: brief(ended.output), tone };
}

export function wordsOfRecord(record: SessionRecord): RecordWords {
  if (record.unreadable !== undefined) return { icon: "failed", kind: "unreadable", given: record.unreadable, tone: "tone-failed" };
  switch (record.kind) {
    case "start":
      return { icon: "start", kind: "begins", given: "", tone: "" };
    case "input":
      return inputWords(record);
    case "result":
    case "late":
      return resultWords(record);
    case "settle":
      return { ...resultWords(record), kind: typeof record.by === "string" ? `by ${record.by}` : "by hand", tone: "tone-held" };
    case "signal":
      return { icon: "signal", kind: "signal", given: record.signal ?? "", tone: "" };
    case "context":
      return { icon: "edit", kind: "set", given: brief(record.keys), tone: "" };
    case "move":
      return { icon: "back", kind: "put", given: brief(record.destination), tone: "tone-rolled-back" };
    case "approve":
      return { icon: "finished", kind: "approved", given: "", tone: "tone-held" };
    case "policy":
      return { icon: "held", kind: "policy", given: brief(record.decision), tone: "tone-held" };
    case "reload":
      return { icon: "edit", kind: "edited", given: "", tone: "" };
    case "blocked":
      return { icon: "waiting", kind: "blocked", given: "", tone: "tone-waiting" };
    case "end":
      return endWords(record);
    default:
      return { icon: "pass", kind: record.kind, given: "", tone: "" };
  }
}
