/** The bridge to the chat that shows this page: JSON-RPC in messages to the window around it (MCP Apps 2026-01-26). */

import { isMapping } from "../api/problem";
import type { Json, JsonObject } from "../api/types";

/** What the page does with a message of the host. */
export interface Hearing {
  /** A notification. */
  hear: (method: string, params: JsonObject) => void;
  /** A request; `null` where it is not known. */
  answer: (method: string) => JsonObject | null;
}

export class Bridge {
  private readonly host = window.parent;
  private readonly pending = new Map<number, (message: JsonObject) => void>();
  private last = 0;

  constructor(hearing: Hearing) {
    addEventListener("message", ({ source, data }: MessageEvent<Json>) => {
      // Only the window around the page is the host.
      if (source !== this.host || !isMapping(data) || data.jsonrpc !== "2.0") return;
      this.take(data, hearing);
    });
  }

  private take(message: JsonObject, { hear, answer }: Hearing): void {
    const { id, method } = message;
    if (typeof method !== "string") {
      const heard = typeof id === "number" ? this.pending.get(id) : undefined;
      if (typeof id === "number") this.pending.delete(id);
      heard?.(message);
    } else if (id === undefined) {
      hear(method, isMapping(message.params) ? message.params : {});
    } else {
      const result = answer(method);
      this.post(result === null ? { id, error: { code: -32601, message: `the page does not know ${method}` } } : { id, result });
    }
  }

  private post(message: JsonObject): void {
    // Nobody tells a page the origin of its host; it is the one that gave the page what it knows.
    this.host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  notify(method: string, params: JsonObject): void {
    this.post({ method, params });
  }

  /** Sends a request. It fails with the message of the host; it lasts as long as the host takes, since a person may be asked meanwhile. */
  async request(method: string, params: JsonObject): Promise<JsonObject> {
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      this.pending.set(id, ({ result, error }) => {
        if (isMapping(result)) resolve(result);
        else reject(new Error(isMapping(error) && typeof error.message === "string" ? error.message : "the chat gave no reason"));
      });
      this.post({ id, method, params });
    });
  }
}
