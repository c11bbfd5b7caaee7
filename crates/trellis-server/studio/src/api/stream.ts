/** A stream of `text/event-stream`, read with `fetch`: `EventSource` cannot send a token. */

import { isMapping, send } from "./client";
import type { Json, JsonObject } from "./types";

export interface ServerEvent {
  event: string;
  data: JsonObject;
  id?: string;
}

/** Reads the events of the server until the stream ends or `signal` is raised; `hear` gets each in order. */
export async function readEvents(
  sessions: string[],
  since: string | undefined,
  signal: AbortSignal,
  hear: (event: ServerEvent) => void,
  opened: () => void,
): Promise<void> {
  const query = sessions.length === 0 ? {} : { session: sessions.join(",") };
  const response = await send("api/events", { query, signal, ...(since === undefined ? {} : { since }) });
  if (response.body === null) return;
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event !== null) hear(event);
    }
  }
}

/** Reads one event; comments and settings of the stream are none. */
export function parseEvent(block: string): ServerEvent | null {
  let event = "";
  let id: string | undefined;
  let text = "";
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    if (field === "event") event = value;
    if (field === "id") id = value;
    if (field === "data") text += value;
  }
  if (event === "" || text === "") return null;
  const data: Json = JSON.parse(text);
  return isMapping(data) ? { event, data, ...(id === undefined ? {} : { id }) } : null;
}
