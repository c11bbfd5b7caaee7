/** What is marked in a drawing: where a session went and stands, what a finding is about, what an edit changed. */

import type { Graph, Hop } from "../api/types";

export interface Marks {
  /** Where the session stands. */
  here: string | null;
  /** How often each node was entered. */
  visits: Map<string, number>;
  /** The numbers of the hops along each edge, as `from → to`. */
  hops: Map<string, number[]>;
  /** The number of the last hop. */
  last: number;
  /** The nodes of a path that a finding shows. */
  lit: Set<string>;
  /** Nodes that an edit changed just now. */
  changed: Set<string>;
}

export const NO_MARKS: Marks = { here: null, visits: new Map(), hops: new Map(), last: 0, lit: new Set(), changed: new Set() };

/** A pair of nodes as a key. */
export function pair(from: string, to: string): string {
  return `${from}\n${to}`;
}

/** The path of a session, up to record `until` where one is named. */
export function marksOfPath(hops: Hop[], here: string, until?: number): Marks {
  const visits = new Map<string, number>();
  const numbers = new Map<string, number[]>();
  let number = 0;
  for (const { seq, from, to } of hops) {
    if (until !== undefined && seq > until) break;
    visits.set(to, (visits.get(to) ?? 0) + 1);
    if (from === null) continue;
    number += 1;
    const key = pair(from, to);
    const known = numbers.get(key);
    if (known) known.push(number);
    else numbers.set(key, [number]);
  }
  return { ...NO_MARKS, here, visits, hops: numbers, last: number };
}

/** The nodes in which two versions of a graph differ, in themselves or in their edges. */
export function changedNodes(before: Graph, after: Graph): Set<string> {
  const print = (graph: Graph): Map<string, string> => {
    const prints = new Map(graph.nodes.map((node) => [node.id, JSON.stringify([node.kind, node.terminal])]));
    for (const edge of graph.edges) {
      prints.set(edge.from, `${prints.get(edge.from) ?? ""}${edge.to}|${edge.outcome}|${edge.condition ?? ""}|${edge.option ?? ""};`);
    }
    return prints;
  };
  const old = print(before);
  return new Set([...print(after)].filter(([id, text]) => old.get(id) !== text).map(([id]) => id));
}
