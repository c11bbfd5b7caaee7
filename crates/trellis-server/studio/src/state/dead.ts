/** What was given up: calls of sessions, and messages of an orchestrator. */

import { computed, signal } from "@preact/signals";

import { problemOf, type Problem } from "../api/client";
import { onLive } from "../api/live";
import { getState, listDeadCalls } from "../api/routes";
import type { DeadCall, DeadMessage } from "../api/types";
import { hasState } from "./graphs";
import { token } from "./token";

export const deadCalls = signal<DeadCall[] | null>(null);
export const deadMessages = signal<DeadMessage[]>([]);
export const deadProblem = signal<Problem | null>(null);
export const deadCount = computed(() => (deadCalls.value?.length ?? 0) + deadMessages.value.length);

/** Asks for the lists again. */
export async function refreshDead(): Promise<void> {
  try {
    deadCalls.value = (await listDeadCalls()).items;
    deadProblem.value = null;
  } catch (error) {
    deadProblem.value = problemOf(error);
  }
  if (!hasState.value) return;
  try {
    deadMessages.value = (await getState()).dead.filter((letter) => letter.kind === "message");
  } catch {
    // What was known stays; the bar above the page says when the server does not answer.
  }
}

/** Keeps the lists as the server has them. */
export function followDead(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const soon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void refreshDead(), 100);
  };
  token.subscribe((known) => known !== null && soon());
  hasState.subscribe((known) => known && soon());
  onLive(({ event }) => {
    if (["dead", "removed", "refresh"].includes(event)) soon();
  });
}
