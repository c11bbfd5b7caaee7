/** Problems: why something was not done. */

import type { JsonObject, Turn } from "./types";

/** Why a request was not done: a problem of the server, or no answer at all (`status` 0). */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** Parts of the request that were wrong, by JSON pointer. */
  readonly errors: { pointer: string; message: string }[];
  /** The turn of now, where the request came too late. */
  readonly current: Turn | null;

  constructor(status: number, body: Partial<Pick<Problem, "code" | "title" | "detail" | "errors" | "current">>) {
    super(body.detail ?? body.title ?? `status ${status}`);
    this.status = status;
    this.code = body.code ?? (status === 0 ? "offline" : "unknown");
    this.title = body.title ?? "The server answered with an error";
    this.detail = body.detail ?? "";
    this.errors = body.errors ?? [];
    this.current = body.current ?? null;
  }
}

/** Any error as a problem. */
export function problemOf(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, { title: "The page met an error", detail: String(error), code: "page" });
}

/** Whether a value is a mapping of JSON. */
export function isMapping(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
