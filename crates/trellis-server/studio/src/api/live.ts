/**
 * What happens in the server, as it happens: one stream for all tabs of a browser.
 *
 * Browsers open six connections to a host over HTTP/1.1, so a stream for each tab would hang the seventh. The tab that holds a lock reads the stream
 * with the sessions of all tabs, and tells the others. Where there are no locks, a tab reads a stream of its own while it is in sight.
 */

import { connected, lost } from "../state/connection";
import { token } from "../state/token";
import { Problem } from "./client";
import { readEvents, type ServerEvent } from "./stream";

/** What an event of the server is, or `refresh`: something may have been missed, so that all must be asked again. */
export type LiveEvent = ServerEvent | { event: "refresh"; data: Record<string, never> };

type Message = { kind: "event"; event: LiveEvent } | { kind: "watched"; tab: string; sessions: string[] } | { kind: "who" } | { kind: "lost"; delay: number };

const MAX_SESSIONS = 16;
const DELAYS = [1000, 2000, 3000, 5000, 10000];

const channel = new BroadcastChannel("trellis-studio");
const tab = Math.random().toString(36).slice(2);
const listeners = new Set<(event: LiveEvent) => void>();
/** The sessions that each tab shows. */
const watched = new Map<string, string[]>();
let stopReading: AbortController | null = null;
let isLeader = false;

/** Hears every event until the returned function is called. */
export function onLive(listener: (event: LiveEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Follows a session besides, until the returned function is called. */
export function watchSession(id: string): () => void {
  watch([id]);
  return () => watch([]);
}

function watch(sessions: string[]): void {
  const before = followed().join();
  watched.set(tab, sessions);
  post({ kind: "watched", tab, sessions });
  if (followed().join() !== before) stopReading?.abort();
}

function followed(): string[] {
  return [...new Set([...watched.values()].flat())].slice(-MAX_SESSIONS);
}

function post(message: Message): void {
  channel.postMessage(message);
}

function tell(event: LiveEvent): void {
  listeners.forEach((listener) => listener(event));
}

/** Has everything that is shown asked again, as after something that was done here. */
export function refreshAll(): void {
  tell({ event: "refresh", data: {} });
}

function tellAll(event: LiveEvent): void {
  tell(event);
  post({ kind: "event", event });
}

const REFRESH: LiveEvent = { event: "refresh", data: {} };

/** Reads the stream for as long as this tab leads; a break is mended after a growing delay. */
async function lead(isOver: () => boolean): Promise<void> {
  isLeader = true;
  post({ kind: "who" });
  let since: string | undefined;
  let failures = 0;
  while (!isOver()) {
    stopReading = new AbortController();
    const sessions = followed();
    const stop = stopReading.signal;
    try {
      await readEvents(
        sessions,
        since,
        stop,
        (event) => {
          since = event.id ?? since;
          tellAll(event.event === "reset" ? REFRESH : event);
        },
        () => {
          failures = 0;
          connected();
          // What happened before the stream began is asked for.
          tellAll(REFRESH);
        },
      );
    } catch (error) {
      if (stop.aborted) continue;
      const status = error instanceof Problem ? error.status : 0;
      if (status === 401) return;
      // A session that is gone would keep the others from being followed.
      if (status === 404) watched.clear();
    }
    if (stop.aborted) continue;
    const delay = DELAYS[Math.min(failures, DELAYS.length - 1)] ?? 1000;
    failures += 1;
    lost(delay);
    post({ kind: "lost", delay });
    await pause(delay, stop);
  }
}

function pause(delay: number, stop: AbortSignal): Promise<void> {
  return new Promise((resume) => {
    const timer = setTimeout(resume, delay);
    stop.addEventListener("abort", () => {
      clearTimeout(timer);
      resume();
    });
  });
}

/** Tries again now. */
export function tryAgain(): void {
  stopReading?.abort();
}

function hear(message: Message): void {
  switch (message.kind) {
    case "event":
      connected();
      return tell(message.event);
    case "lost":
      return lost(message.delay);
    case "who":
      return post({ kind: "watched", tab, sessions: watched.get(tab) ?? [] });
    case "watched": {
      const before = followed().join();
      watched.set(message.tab, message.sessions);
      if (isLeader && followed().join() !== before) stopReading?.abort();
    }
  }
}

/** Begins to hear, once there is a token. */
export function startLive(): void {
  channel.addEventListener("message", (message: MessageEvent<Message>) => hear(message.data));
  addEventListener("pagehide", () => post({ kind: "watched", tab, sessions: [] }));
  let isWaiting = false;
  token.subscribe((known) => {
    if (known === null || isWaiting) return;
    isWaiting = true;
    const done = (): void => {
      isWaiting = false;
      isLeader = false;
    };
    if (navigator.locks !== undefined) {
      void navigator.locks.request("trellis-stream", () => lead(() => false)).finally(done);
      return;
    }
    addEventListener("visibilitychange", () => {
      if (document.hidden) stopReading?.abort();
    });
    void leadInSight().finally(done);
  });
}

async function leadInSight(): Promise<void> {
  for (;;) {
    await lead(() => document.hidden);
    await new Promise<void>((shown) => addEventListener("visibilitychange", () => shown(), { once: true }));
  }
}
