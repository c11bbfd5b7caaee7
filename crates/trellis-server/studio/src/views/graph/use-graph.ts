/** A graph with its layout, kept while its files are saved and its modules folded. */

import { useEffect, useRef, useState } from "preact/hooks";

import { getGraph } from "../../api/routes";
import type { Graph } from "../../api/types";
import { changedNodes } from "../../draw/marks";
import { type Resource, useResource } from "../../state/resource";

/** How long nodes glow that an edit changed. */
const GLOW = 1500;

export interface ShownGraph extends Resource<Graph> {
  /** Nodes that an edit changed just now. */
  changed: Set<string>;
  /** Folds a module, or opens it. */
  toggle: (module: string, isFolded: boolean) => void;
  /** Opens the modules in which a node is folded away. */
  unfold: (node: string) => void;
}

const NONE: Set<string> = new Set();

export function useGraph(name: string): ShownGraph {
  const [folded, setFolded] = useState<{ graph: string; modules: string[] } | null>(null);
  const chosen = folded?.graph === name ? folded.modules.join(",") : undefined;
  const resource = useResource(name, () => getGraph(name, chosen), ({ event, data }) => event === "graph" && data.graph === name);
  const { data, refresh } = resource;
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) refresh();
    isFirst.current = false;
  }, [chosen]);

  const before = useRef<Graph | null>(null);
  const [changed, setChanged] = useState(NONE);
  useEffect(() => {
    const old = before.current;
    before.current = data;
    if (data === null || old === null || old.name !== data.name || old.program === data.program) return undefined;
    setChanged(changedNodes(old, data));
    const timer = setTimeout(() => setChanged(NONE), GLOW);
    return () => clearTimeout(timer);
  }, [data]);

  const now = data?.layout.collapsed ?? [];
  const toggle = (module: string, isFolded: boolean): void => {
    const modules = isFolded ? [...new Set([...now, module])] : now.filter((other) => other !== module);
    setFolded({ graph: name, modules });
  };
  const unfold = (node: string): void => {
    const hides = (module: string): boolean => node.startsWith(`${module}/`);
    if (now.some(hides)) setFolded({ graph: name, modules: now.filter((module) => !hides(module)) });
  };
  return { ...resource, changed, toggle, unfold };
}
