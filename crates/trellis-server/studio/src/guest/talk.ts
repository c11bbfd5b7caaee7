/** The session that the page shows: told by the chat, answered through it. */

import { computed, effect, signal } from "@preact/signals";

import { isMapping, Problem } from "../api/problem";
import type { JsonObject, Reply } from "../api/types";
import { follow, isQuestion, isUrgent, newsOf, type Talk, textOf as wordsOf } from "../views/session/exchanges";
import { Bridge } from "./bridge";
import { goesOn, isForModel, problemOf, textOf, turnOf } from "./result";

/** The first pause before the page looks again at what goes on by itself; each is twice the one before, up to the longest. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;
/** Looks at a session that does not move, before somebody has to ask for the next one. */
const MOST_LOOKS = 20;

export const talk = signal<Talk | null>(null);
export const sending = signal<number | null>(null);
export const refusal = signal<{ problem: Problem; seq: number } | null>(null);
/** Why there is no session to show. */
export const absence = signal<string | null>(null);
/** Whether the session came to something here that the model was not told yet in a message. */
export const isNews = signal(false);
export const announcement = signal({ text: "", isUrgent: false });
const abilities = signal<JsonObject>({});
const looks = signal(0);

/** Whether the host hands calls on. */
export const canAnswer = computed(() => isMapping(abilities.value.serverTools));
/** Whether the host takes messages. */
export const canTell = computed(() => isMapping(abilities.value.message));
/** Whether only somebody's wish makes the page look again. */
export const isStill = computed(() => talk.value !== null && goesOn(talk.value.turn) && looks.value >= MOST_LOOKS);

const bridge = new Bridge({
  hear(method, params) {
    if (method === "ui/notifications/tool-result") take(params, null);
    else if (method === "ui/notifications/tool-cancelled") absence.value = "The call was cancelled. What it began is stored, and can go on.";
    else if (method === "ui/notifications/host-context-changed") adapt(params);
  },
  answer: (method) => (method === "ping" || method === "ui/resource-teardown" ? {} : null),
});

/** Takes on the colours of the host. */
function adapt({ theme }: JsonObject): void {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

/** Takes a result; `answer` is what led to it. Says whether the session moved. */
function take(result: JsonObject, answer: string | null): boolean {
  const turn = turnOf(result);
  const before = talk.peek();
  if (turn === null) {
    if (before === null) absence.value = problemOf(result).message || "The result tells of no session.";
    return false;
  }
  const after = follow(before, turn, answer);
  const hasMoved = before !== null && after.turn.seq !== before.turn.seq;
  if (hasMoved) announcement.value = { text: wordsOf(newsOf(before.turn, turn)), isUrgent: isUrgent(turn) };
  looks.value = hasMoved ? 0 : looks.peek() + 1;
  absence.value = null;
  talk.value = after;
  return hasMoved;
}

/** Calls a tool through the host. A result without a session is a problem. */
async function call(name: string, args: JsonObject): Promise<JsonObject> {
  const at = talk.peek()?.turn;
  const place = at === undefined ? {} : at.graph === "" ? { session: at.session } : { session: at.session, graph: at.graph };
  const calling = bridge.request("tools/call", { name, arguments: { ...place, ...args } });
  const result = await calling.catch((error: unknown) => {
    throw new Problem(0, { title: "The chat did not hand it on", detail: error instanceof Error ? error.message : String(error), code: "host" });
  });
  if (result.isError === true && turnOf(result) === null) throw problemOf(result);
  return result;
}

/** Tells the model what came of something that it did not do itself. */
function inform(lead: string, result: JsonObject): void {
  const turn = turnOf(result);
  isNews.value = turn !== null && isForModel(turn.stop);
  if (!isMapping(abilities.peek().updateModelContext)) return;
  const text = `${lead} It stands as follows.\n\n${textOf(result)}`;
  // A host that does not take it has lost nothing: the session knows, and every result tells.
  bridge.request("ui/update-model-context", { content: [{ type: "text", text }] }).catch(() => undefined);
}

/** Asks where the session stands. */
async function look(): Promise<void> {
  try {
    const result = await call("render_state", {});
    if (take(result, null)) inform("The session went on.", result);
  } catch (error) {
    if (error instanceof Problem) refusal.value = { problem: error, seq: talk.peek()?.turn.seq ?? 0 };
  }
}

/** Looks because somebody wants to, and goes on looking at what goes on by itself. */
export function lookAgain(): void {
  looks.value = 0;
  refusal.value = null;
  void look();
}

/** Sends a reply; says whether it was taken. `words` is what the log shows of it. */
export async function send(body: Reply, words: string): Promise<boolean> {
  const seq = talk.peek()?.turn.seq ?? 0;
  sending.value = seq;
  refusal.value = null;
  try {
    const result = await call("navigate", isQuestion(body) ? { ...body, seq } : { ...body });
    if (take(result, words)) inform("The person answered on the page of the session.", result);
    // A host that leaves the form of an approval to the page tells no turn.
    else if (turnOf(result) === null) await look();
    return true;
  } catch (error) {
    const problem = error instanceof Problem ? error : new Problem(0, { title: "The page met an error", detail: String(error) });
    if (problem.status !== 0) await look();
    refusal.value = { problem, seq };
    return false;
  } finally {
    sending.value = null;
  }
}

/** Gives the word to the model. */
export async function tell(): Promise<void> {
  const turn = talk.peek()?.turn;
  if (!turn) return;
  const text = turn.stop.type === "END" ? `The session ${turn.session} is over: go on from what it came to.` : `The session ${turn.session} waits for a call: carry it out.`;
  const done = await bridge.request("ui/message", { role: "user", content: [{ type: "text", text }] }).catch(() => ({ isError: true }));
  if (done.isError !== true) isNews.value = false;
}

/** Opens an address, if the host does that. */
export function openLink(url: string): void {
  if (isMapping(abilities.peek().openLinks)) bridge.request("ui/open-link", { url }).catch(() => undefined);
}

/** Tells the host how high the page is, now and whenever that changes. */
export function watchSize(): void {
  new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    bridge.notify("ui/notifications/size-changed", { height });
  }).observe(document.body);
}

// What goes on by itself is looked at until it comes to a stop.
effect(() => {
  if (talk.value === null || !goesOn(talk.value.turn) || looks.value >= MOST_LOOKS) return undefined;
  const timer = setTimeout(() => void look(), Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** looks.peek()));
  return () => clearTimeout(timer);
});

/** Greets the host, which tells the rest. */
export async function greet(): Promise<void> {
  const greeting = { appInfo: { name: "trellis-session", version: "1" }, appCapabilities: { availableDisplayModes: ["inline"] }, protocolVersion: "2026-01-26" };
  const { hostCapabilities, hostContext } = await bridge.request("ui/initialize", greeting);
  if (isMapping(hostCapabilities)) abilities.value = hostCapabilities;
  if (isMapping(hostContext)) adapt(hostContext);
  bridge.notify("ui/notifications/initialized", {});
  watchSize();
}
