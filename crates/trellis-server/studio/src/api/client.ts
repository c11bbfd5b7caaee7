/** Requests to the API. */

import { isRefused, token } from "../state/token";
import { lost } from "../state/connection";
import { address, type Query } from "./address";
import { isMapping, Problem } from "./problem";
import type { JsonObject } from "./types";

export { isMapping, Problem, problemOf } from "./problem";

export interface Request {
  method?: "GET" | "HEAD" | "POST" | "PATCH" | "DELETE";
  query?: Query;
  body?: JsonObject;
  /** The number that the session must still have. */
  ifMatch?: number;
  ifNoneMatch?: string;
  /** The name of the request: sent twice, it is done once. */
  key?: string;
  /** Seconds to wait for the next stop. */
  wait?: number;
  signal?: AbortSignal;
  /** The last event of a stream that was heard. */
  since?: string;
}

/** The headers of a request. */
export function headersOf(request: Request): Headers {
  const headers = new Headers();
  if (token.peek() !== null) headers.set("Authorization", `Bearer ${token.peek()}`);
  if (request.body !== undefined) headers.set("Content-Type", "application/json");
  if (request.ifMatch !== undefined) headers.set("If-Match", `"${request.ifMatch}"`);
  if (request.ifNoneMatch !== undefined) headers.set("If-None-Match", request.ifNoneMatch);
  if (request.key !== undefined) headers.set("Idempotency-Key", request.key);
  if (request.since !== undefined) headers.set("Last-Event-ID", request.since);
  if (request.wait !== undefined) headers.set("Prefer", `wait=${request.wait}`);
  return headers;
}

/** Sends a request as it stands; any answer that is no success is a `Problem`. */
export async function send(path: string, request: Request = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address(path, request.query), {
      method: request.method ?? "GET",
      headers: headersOf(request),
      cache: "no-store",
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    lost(1000);
    throw new Problem(0, { title: "The server does not answer", detail: "It may have been stopped. The page tries again by itself." });
  }
  if (response.ok || response.status === 304) return response;
  const body: unknown = await response.json().catch(() => ({}));
  const problem = new Problem(response.status, isMapping(body) ? body : {});
  if (problem.status === 401) isRefused.value = true;
  throw problem;
}

/** Sends a request whose answer is JSON. The caller names the shape that the route has. */
export async function request<Shape>(path: string, request: Request = {}): Promise<Shape> {
  const response = await send(path, request);
  const body: Shape = await response.json();
  return body;
}

/** A fresh name for a request. */
export function requestKey(): string {
  return crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}

/** A name as part of a path. */
export function part(name: string): string {
  return encodeURIComponent(name);
}
