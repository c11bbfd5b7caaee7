/** The drawing as a tree of modules and nodes with their edges: its twin for those who do not see it. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Graph, GraphEdge, GraphNode } from "../../api/types";
import { doing, isEnd, nameOf } from "../../draw/nodes";
import { labelOf } from "../../draw/paint";
import { Icon } from "../../ui/icons";

interface Props {
  graph: Graph;
  selected: string | null;
  here?: string | null;
  select: (node: string) => void;
}

interface Group {
  module: string;
  nodes: GraphNode[];
}

function groupsOf(graph: Graph): Group[] {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const groups = graph.modules.map(({ id, nodes: ids }) => ({
    module: id,
    nodes: ids.map((id) => nodes.get(id)).filter((node) => node !== undefined),
  }));
  return groups.sort((one, other) => one.module.localeCompare(other.module, undefined, { numeric: true }));
}

/** An edge in words. */
export function wordsOf(edge: GraphEdge): string {
  const label = labelOf(edge);
  return label === "" ? edge.why.replaceAll("_", " ") : label;
}

function Item({ node, edges, isSelected, isHere, select }: {
  node: GraphNode;
  edges: GraphEdge[];
  isSelected: boolean;
  isHere: boolean;
  select: (node: string) => void;
}): JSX.Element {
  const { icon, word } = doing(node);
  const item = useRef<HTMLLIElement>(null);
  // A node may be chosen in the drawing, or by its address.
  useEffect(() => {
    if (isSelected) item.current?.scrollIntoView({ block: "nearest" });
  }, [isSelected]);
  return (
    <li ref={item}>
      <button
        type="button"
        class={`outline-node ${isHere ? "is-here" : ""}`}
        aria-current={isSelected ? "true" : undefined}
        title={node.id}
        onClick={() => select(node.id)}
      >
        <Icon name={node.entry ? "start" : icon} />
        <span class="outline-name">{node.id.split("/").at(-1)}</span>
        <span class="dim outline-does">{isHere ? "here" : word}</span>
      </button>
      {isSelected && edges.length > 0 && (
        <ul class="outline-edges" aria-label={`Edges out of ${node.id}`}>
          {edges.map((edge, at) => (
            <li key={at}>
              <button type="button" class="outline-edge" disabled={isEnd(edge.to)} onClick={() => select(edge.to)}>
                <span class="edge-label">{wordsOf(edge)}</span>
                <Icon name="goto" />
                <span>{nameOf(edge.to)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

export function Outline({ graph, selected, here = null, select }: Props): JSX.Element {
  const groups = useMemo(() => groupsOf(graph), [graph]);
  const [words, setWords] = useState("");
  const edges = useMemo(() => Map.groupBy(graph.edges, (edge) => edge.from), [graph]);
  const isFound = (node: GraphNode): boolean => node.id.toLowerCase().includes(words.toLowerCase());
  return (
    <nav class="outline" aria-label="Outline">
      <input
        class="filter"
        type="search"
        aria-label="Filter nodes"
        placeholder={`Filter ${graph.modules.reduce((sum, module) => sum + module.nodes.length, 0)} nodes`}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <div class="outline-scroll">
        {groups.map(({ module, nodes }) => {
          const found = nodes.filter(isFound);
          if (found.length === 0) return null;
          const items = (
            <ul>
              {found.map((node) => (
                <Item
                  key={node.id}
                  node={node}
                  edges={selected === node.id ? (edges.get(node.id) ?? []) : []}
                  isSelected={selected === node.id}
                  isHere={here === node.id}
                  select={select}
                />
              ))}
            </ul>
          );
          if (module === "") return <div key="">{items}</div>;
          const isOpen = words !== "" || graph.nodes.length < 150 || (selected?.startsWith(`${module}/`) ?? false);
          return (
            <details key={module} open={isOpen}>
              <summary>
                <span class="module-name">{module}/</span> <span class="dim">{nodes.length}</span>
              </summary>
              {items}
            </details>
          );
        })}
      </div>
    </nav>
  );
}
