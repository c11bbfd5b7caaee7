/** The graphs that are served, for the whole page. */

import { computed, signal } from "@preact/signals";

import { problemOf, type Problem } from "../api/client";
import { onLive } from "../api/live";
import { listApprovals, listGraphs } from "../api/routes";
import type { GraphCard, HeldCall } from "../api/types";
import { route } from "./route";
import { token } from "./token";

export const graphs = signal<GraphCard[] | null>(null);
export const graphsProblem = signal<Problem | null>(null);
export const approvals = signal<HeldCall[] | null>(null);
/** The routes of an orchestrator, where the server is part of one. */
const extra = signal<string[]>([]);
export const hasState = computed(() => extra.value.includes("/api/state"));
export const hasChat = computed(() => extra.value.includes("/api/channels/web/messages"));
/** The graph of the session that is shown. */
export const graphOfSession = signal<string | null>(null);

/** The graph that the view is about; with one graph it is always that. */
export const currentGraph = computed<GraphCard | null>(() => {
  const shown = route.value;
  const all = graphs.value ?? [];
  const name = "graph" in shown ? shown.graph : shown.view === "session" ? graphOfSession.value : null;
  return all.find((graph) => graph.name === name) ?? (all.length === 1 ? (all[0] ?? null) : null);
});

/** Asks for the list again. */
export async function refreshGraphs(): Promise<void> {
  try {
    const list = await listGraphs();
    extra.value = list.extra ?? [];
    graphs.value = list.items;
    graphsProblem.value = null;
  } catch (error) {
    graphsProblem.value = problemOf(error);
  }
}

async function refreshApprovals(): Promise<void> {
  try {
    approvals.value = (await listApprovals()).items;
  } catch (error) {
    // The bar above the page says when the server does not answer; a token without the right sees no list.
    if (problemOf(error).status === 403) approvals.value = [];
  }
}

/** Keeps the lists as the server has them. */
export function followGraphs(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const soon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void refreshGraphs(), 150);
  };
  token.subscribe(() => {
    void refreshGraphs();
    void refreshApprovals();
  });
  onLive(({ event }) => {
    if (["graph", "session", "removed", "refresh"].includes(event)) soon();
    if (["approval", "removed", "refresh"].includes(event)) void refreshApprovals();
  });
}
