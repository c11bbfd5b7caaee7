/** The routes that the studio uses, one function each. */

import { part, request, requestKey, send } from "./client";
import type {
  ChatMessage,
  DeadCall,
  Graph,
  GraphCard,
  Head,
  HeldCall,
  Hop,
  JsonObject,
  Match,
  NodeDetail,
  Page,
  RecordPage,
  Reply,
  Report,
  State,
  StateAt,
  Turn,
} from "./types";

/** Sessions may share a name where graphs have stores of their own. */
const session = (id: string) => `api/sessions/${part(id)}`;
const graphPath = (name: string) => `api/graphs/${part(name)}`;

/** `extra` has the routes of an orchestrator, where the server is part of one. */
export const listGraphs = () => request<Page<GraphCard> & { extra?: string[] }>("api/graphs");
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

export const listDeadCalls = () => request<Page<DeadCall>>("api/dead-letters");
const deadCall = ({ key, graph }: DeadCall, rest = "") => [`api/dead-letters/${part(key)}${rest}`, { graph }] as const;
export const retryCall = (letter: DeadCall) => {
  const [path, query] = deadCall(letter, "/retry");
  return request<DeadCall>(path, { method: "POST", query, body: {} });
};
export const dropCall = (letter: DeadCall) => {
  const [path, query] = deadCall(letter);
  return send(path, { method: "DELETE", query });
};

export const getState = () => request<State>("api/state");
export const listMessages = (thread: string | undefined) => request<Page<ChatMessage> & { chat: string }>("api/channels/web/messages", { query: { thread } });
export const say = (text: string, thread: string | undefined, key: string) =>
  request<ChatMessage>("api/channels/web/messages", { method: "POST", body: thread === undefined ? { text } : { text, thread }, key });
const act = (path: string) => send(path, { method: "POST", body: {} });
export const retryMessage = (id: number) => act(`api/outbox/${id}/retry`);
export const dropMessage = (id: number) => send(`api/outbox/${id}`, { method: "DELETE" });
export const pauseSchedule = (id: string) => act(`api/cron/${part(id)}/pause`);
export const resumeSchedule = (id: string) => act(`api/cron/${part(id)}/resume`);
export const startService = (name: string) => act(`api/services/${part(name)}/start`);
export const restartService = (name: string) => act(`api/services/${part(name)}/restart`);

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
export const getStateAt = (id: string, seq: number, child: string | undefined) => request<StateAt>(`${session(id)}/at/${seq}`, { query: { html: true, child } });
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
