/** The view that the address names. Every view can be linked and reloaded. */

import { signal } from "@preact/signals";

export type Route =
  | { view: "graphs" }
  | { view: "graph"; graph: string; node?: string }
  | { view: "problems"; graph: string }
  | { view: "session"; session: string; at?: number; isAlone?: boolean }
  | { view: "sessions" }
  | { view: "approvals" }
  | { view: "dead" }
  | { view: "dashboard" }
  | { view: "chat"; thread?: string }
  | { view: "unknown" };

/** Reads an address such as `#/s/ana/@7`. */
export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?");
  const parts = path.split("/").filter((part) => part !== "").map(decodeURIComponent);
  const [view, name, third] = parts;
  if (view === undefined) return { view: "graphs" };
  if (view === "sessions" || view === "approvals" || view === "dead" || view === "dashboard") return { view };
  if (view === "chat") return name === undefined ? { view } : { view, thread: name };
  if (view === "g" && name !== undefined) {
    if (third === "problems") return { view: "problems", graph: name };
    const node = new URLSearchParams(query).get("node");
    return node === null ? { view: "graph", graph: name } : { view: "graph", graph: name, node };
  }
  if (view === "s" && name !== undefined) {
    if (third === "answer") return { view: "session", session: name, isAlone: true };
    const at = /^@(\d+)$/.exec(third ?? "");
    return at ? { view: "session", session: name, at: Number(at[1]) } : { view: "session", session: name };
  }
  return { view: "unknown" };
}

/** The address of a view. */
export function href(route: Exclude<Route, { view: "unknown" }>): string {
  const part = encodeURIComponent;
  switch (route.view) {
    case "graphs":
      return "#/";
    case "graph":
      return `#/g/${part(route.graph)}${route.node === undefined ? "" : `?node=${part(route.node)}`}`;
    case "problems":
      return `#/g/${part(route.graph)}/problems`;
    case "chat":
      return route.thread === undefined ? "#/chat" : `#/chat/${part(route.thread)}`;
    case "session":
      return `#/s/${part(route.session)}${route.isAlone ? "/answer" : route.at === undefined ? "" : `/@${route.at}`}`;
    case "sessions":
    case "approvals":
    case "dead":
    case "dashboard":
      return `#/${route.view}`;
  }
}

/** The view that is shown. */
export const route = signal<Route>({ view: "graphs" });

/** Opens a view. */
export function open(to: Exclude<Route, { view: "unknown" }>): void {
  location.hash = href(to);
}

/** Opens a view in the place of this one, without a step to go back to. */
export function replace(to: Exclude<Route, { view: "unknown" }>): void {
  history.replaceState(null, "", href(to));
  route.value = parse(location.hash);
}

/** Follows the address from now on. */
export function followAddress(): void {
  route.value = parse(location.hash);
  addEventListener("hashchange", () => {
    route.value = parse(location.hash);
  });
}
