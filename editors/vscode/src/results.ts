/** The lines that `trellis test --format json` and `trellis check --format json` print. */

import { join } from "node:path";

/** The first difference between a case and what came out. */
export interface Difference {
  /** The line of the sheet, from 1. */
  line: number;
  expected: string[];
  got: string[];
  /** The node in which the session stood. */
  node: string | null;
}

/** A case of a sheet, listed or played. */
export interface Case {
  type: "case";
  /** `sheet › heading › title`, by which it is selected. */
  id: string;
  /** The sheet, relative to the folder of the graph. */
  path: string;
  /** The line of its heading, from 1. */
  line: number;
  outcome: "listed" | "passed" | "failed" | "updated" | "error" | "skipped" | string;
  ms: number;
  difference: Difference | null;
  message?: string | null;
}

/** Returns the case in a line of output; `undefined` for summaries, and for lines that are none of ours. */
export function caseIn(line: string): Case | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null) return undefined;
    const found = value as Case;
    return found.type === "case" && typeof found.id === "string" && typeof found.line === "number" ? found : undefined;
  } catch {
    return undefined;
  }
}

/** The cases of one graph. */
export interface ListedGraph<T> {
  /** The folder of the graph. */
  root: string;
  listed: T;
}

/** Returns graphs with the cases that no graph above them lists: the sheets of a graph inside another one are played along with the outer one. */
export function listedOnce(graphs: readonly ListedGraph<readonly Case[]>[]): ListedGraph<Case[]>[] {
  const taken = new Set<string>();
  return [...graphs]
    .sort((one, other) => one.root.length - other.root.length)
    .map(({ root, listed }) => {
      const own = listed.filter(({ path }) => !taken.has(join(root, path)));
      for (const { path } of own) taken.add(join(root, path));
      return { root, listed: own };
    });
}

/** Returns the lines of a difference that differ, without those that are the same above and below them. */
export function differing({ expected, got }: Pick<Difference, "expected" | "got">): { expected: string[]; got: string[] } {
  const shorter = Math.min(expected.length, got.length);
  let above = 0;
  while (above < shorter && expected[above] === got[above]) above += 1;
  let below = 0;
  while (below < shorter - above && expected.at(-1 - below) === got.at(-1 - below)) below += 1;
  const between = (lines: string[]) => lines.slice(above, lines.length - below);
  return { expected: between(expected), got: between(got) };
}

/** Returns the parts of the id of a case: sheet, headings, title. */
export function partsOf(id: string): string[] {
  return id.split(" › ");
}

/** The counts of a check. */
export interface Counts {
  nodes: number;
  errors: number;
  warnings: number;
  unchecked: number;
}

/** Returns the counts in the output of a check. */
export function countsIn(output: string): Counts | undefined {
  try {
    const { summary } = JSON.parse(output) as { summary?: Counts };
    return typeof summary?.nodes === "number" ? summary : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the counts in the words of the status bar. */
export function counted({ nodes, errors, warnings, unchecked }: Counts): string {
  const number = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const rest = [
    errors > 0 && number(errors, "error"),
    warnings > 0 && number(warnings, "warning"),
    unchecked > 0 && `${unchecked} unchecked`,
  ].filter((part) => part !== false);
  return [number(nodes, "node"), ...rest].join(", ");
}
