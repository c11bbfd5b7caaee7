/** Whether the server can be reached. */

import { signal } from "@preact/signals";

export type Connection = { state: "connected" } | { state: "lost"; since: number; retryAt: number };

export const connection = signal<Connection>({ state: "connected" });

/** The server answered. */
export function connected(): void {
  if (connection.peek().state !== "connected") connection.value = { state: "connected" };
}

/** The server does not answer; it is asked again after `delay` milliseconds. */
export function lost(delay: number): void {
  const before = connection.peek();
  const since = before.state === "lost" ? before.since : Date.now();
  connection.value = { state: "lost", since, retryAt: Date.now() + delay };
}
