/** The routes that the studio uses, one function each. */

import { part, request, requestKey, send } from "./client";
import type { Graph, GraphCard, Head, HeldCall, Hop, JsonObject, Match, NodeDetail, Page, RecordPage, Reply, Report, StateAt, Turn } from "./types";

/** Sessions may share a name where graphs have stores of their own. */
const session = (id: string) => `api/sessions/${part(id)}`;
const graphPath = (name: string) => `api/graphs/${part(name)}`;

export const listGraphs = () => request<Page<GraphCard>>("api/graphs");
export const getGraph = (name: string, collapsed: string | undefined, signal?: AbortSignal) =>
  request<Graph>(graphPath(name), { query: { layout: "down", collapsed }, ...(signal ? { signal } : {}) });
export const getNode = (graph: string, node: string) =>
  request<NodeDetail>(`${graphPath(graph)}/nodes/${node.split("/").map(part).join("/")}`);
export const getReport = (graph: string) => request<Report>(`${graphPath(graph)}/diagnostics`);
export const searchGraph = (graph: string, words: string) => request<Page<Match>>(`${graphPath(graph)}/search`, { query: { q: words, limit: 20 } });
export const reload = (graph: string) => request<Report>(`${graphPath(graph)}/reload`, { method: "POST", body: {} });
export const explain = async (code: string) => (await send(`api/explain/${part(code)}`)).text();

export const listSessions = (query: Record<string, string | number | undefined>) => request<Page<Head>>("api/sessions", { query });
export const listApprovals = () => request<Page<HeldCall>>("api/approvals");

export const getTurn = (id: string) => request<Turn>(session(id), { query: { html: true } });
export const startSession = (body: JsonObject) =>
  request<Turn>("api/sessions", { method: "POST", query: { html: true }, body, key: requestKey(), wait: 5 });
export const reply = (id: string, body: Reply, seq: number | undefined, key: string) =>
  request<Turn>(`${session(id)}/turns`, { method: "POST", query: { html: true }, body, key, wait: 2, ...(seq === undefined ? {} : { ifMatch: seq }) });
export const pause = (id: string) => request<Turn>(`${session(id)}/pause`, { method: "POST", query: { html: true }, body: {} });
export const resume = (id: string) => request<Turn>(`${session(id)}/resume`, { method: "POST", query: { html: true }, body: {}, wait: 1 });
export const removeSession = (id: string, seq: number) => send(session(id), { method: "DELETE", query: { open: true }, ifMatch: seq });
export const decide = (id: string, call: string, decision: "approve" | "deny", because?: string) =>
  request<Turn>(`${session(id)}/approvals/${part(call)}`, {
    method: "POST",
    query: { html: true },
    body: because ? { decision, because } : { decision },
    key: requestKey(),
    wait: 2,
  });

export const getRecords = (id: string, from: number, limit: number) => request<RecordPage>(`${session(id)}/records`, { query: { from, limit } });
export const getStateAt = (id: string, seq: number) => request<StateAt>(`${session(id)}/at/${seq}`, { query: { html: true } });
export const getPath = (id: string) => request<{ hops: Hop[]; first: number }>(`${session(id)}/path`);
export const exportSession = async (id: string) => (await send(`${session(id)}/export`)).text();

/** A way through time; each makes one record. */
const travel = (id: string, verb: string, body: JsonObject, seq: number) =>
  request<Turn>(`${session(id)}/${verb}`, { method: "POST", query: { html: true }, body, key: requestKey(), ifMatch: seq });
export const back = (id: string, to: number, seq: number) => travel(id, "back", { to }, seq);
export const goto = (id: string, node: string, seq: number) => travel(id, "goto", { node }, seq);
export const setContext = (id: string, set: JsonObject, seq: number) =>
  request<Turn>(`${session(id)}/context`, { method: "PATCH", query: { html: true }, body: { set }, key: requestKey(), ifMatch: seq });
export const fork = (id: string, at: number) => request<Turn>(`${session(id)}/fork`, { method: "POST", body: { at }, key: requestKey() });
