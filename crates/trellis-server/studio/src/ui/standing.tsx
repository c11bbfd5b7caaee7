/** How a session stands: a shape, a word and a colour, always together. */

import type { JSX } from "preact";

import type { Stop } from "../api/types";
import { Icon, type IconName } from "./icons";

interface Look {
  icon: IconName;
  word: string;
  tone: "waiting" | "held" | "running" | "finished" | "failed" | "denied" | "rolled-back";
}

const STANDINGS: Record<string, Look> = {
  active: { icon: "running", word: "running", tone: "running" },
  waiting_for_input: { icon: "waiting", word: "asks", tone: "waiting" },
  waiting_for_tool: { icon: "running", word: "calls", tone: "running" },
  rolling_back: { icon: "rolled_back", word: "rolling back", tone: "rolled-back" },
  finished: { icon: "finished", word: "finished", tone: "finished" },
  failed: { icon: "failed", word: "failed", tone: "failed" },
  denied: { icon: "denied", word: "denied", tone: "denied" },
  rolled_back: { icon: "rolled_back", word: "rolled back", tone: "rolled-back" },
  unreadable: { icon: "failed", word: "unreadable", tone: "failed" },
};

const HELD: Look = { icon: "held", word: "approval", tone: "held" };
const STOPPED: Look = { icon: "held", word: "stopped", tone: "running" };

/** What is known of a session besides its standing. */
interface Known {
  stop?: Stop | undefined;
  isHeld?: boolean;
  /** Whether somebody stopped what runs. */
  isHalted?: boolean | undefined;
}

function lookOf(standing: string, { stop, isHeld, isHalted }: Known): Look {
  if (isHeld || stop?.type === "APPROVAL") return HELD;
  if (isHalted && (stop?.type === "RUNNING" || stop?.type === "SLEEPING")) return STOPPED;
  if (stop?.type === "SLEEPING") return { icon: "clock", word: "sleeps", tone: "running" };
  return STANDINGS[standing] ?? { icon: "running", word: standing.replaceAll("_", " "), tone: "running" };
}

/** How a session stands, with what it waits for where that is known. */
export function Standing({ of, ...known }: { of: string } & Known): JSX.Element {
  const { icon, word, tone } = lookOf(of, known);
  return (
    <span class={`standing tone-${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}

/** Whether a session is over. */
export function hasEnded(standing: string): boolean {
  return ["finished", "failed", "denied", "rolled_back"].includes(standing);
}
