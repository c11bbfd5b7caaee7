/** Whether the server has another version of this page than the one that runs here. */

import { signal } from "@preact/signals";

import { send } from "../api/client";
import { connection } from "./connection";

export const isOutdated = signal(false);

/** The tag of the script that the server has now; null where it does not answer. */
async function scriptTag(): Promise<string | null> {
  try {
    return (await send("studio.js", { method: "HEAD" })).headers.get("ETag");
  } catch {
    return null;
  }
}

/** Remembers the tag of this page's script, and compares it each time the server is back: it may have been another program before. */
export async function followVersion(): Promise<void> {
  const own = await scriptTag();
  if (own === null) return;
  let before = connection.peek().state;
  connection.subscribe(({ state }) => {
    const isBack = before === "lost" && state === "connected";
    before = state;
    if (isBack) void scriptTag().then((tag) => tag !== null && (isOutdated.value = tag !== own));
  });
}
