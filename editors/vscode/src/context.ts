/** The context from which a session begins at a node: what is missing there, and what people give for it. */

/** Returns the paths that a start was refused for, as the program says it; none where it was refused for another reason. */
export function missingIn(refusal: string): string[] {
  const why = /the session cannot start: (.*)/.exec(refusal)?.[1] ?? "";
  return [...why.matchAll(/`([^`]+)` is missing/g)].map(([, path]) => path!);
}

/** Returns a value as it was typed: JSON if it is JSON, else text. */
function valueOf(typed: string): unknown {
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the arguments of `trellis run` that give values by their paths, such as `order.total`; none without values. */
export function contextArgs(typed: ReadonlyMap<string, string>): string[] {
  const context: Record<string, unknown> = Object.create(null);
  for (const [path, value] of typed) {
    const parts = path.split(".");
    const last = parts.pop()!;
    let within = context;
    for (const part of parts) {
      const below = isMapping(within[part]) ? within[part] : Object.create(null);
      within[part] = below;
      within = below;
    }
    within[last] = valueOf(value);
  }
  return typed.size > 0 ? ["--context", JSON.stringify(context)] : [];
}
