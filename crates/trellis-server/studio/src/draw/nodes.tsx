/** Nodes that are near enough to read: real buttons, so that focus, screen readers and find-in-page know them. */

import type { JSX } from "preact";

import type { Graph, GraphNode, LaidModule, Layout } from "../api/types";
import { Icon, type IconName } from "../ui/icons";
import type { Marks } from "./marks";

/** An icon and a word for what a node does. */
export function doing(node: GraphNode): { icon: IconName; word: string } {
  if (node.terminal) return { icon: "end", word: "ends" };
  const kinds: Record<string, { icon: IconName; word: string }> = {
    pass: { icon: "pass", word: "says" },
    listen: { icon: "listen", word: "asks" },
    act: { icon: "act", word: "calls" },
  };
  return kinds[node.kind] ?? { icon: "end", word: node.kind };
}

/** The name of a node; an end has that of its reason. */
export function nameOf(id: string): string {
  return id.startsWith(END) ? id.slice(END.length) : id;
}

const END = "end:";

/** Whether an id is that of an end without a node. */
export function isEnd(id: string): boolean {
  return id.startsWith(END);
}

/** A name cut in the middle, where its ends tell it from others. */
export function middleCut(name: string, most: number): string {
  if (name.length <= most) return name;
  const head = Math.ceil((most - 1) / 2);
  return `${name.slice(0, head)}…${name.slice(name.length - (most - 1 - head))}`;
}

interface Props {
  graph: Graph;
  layout: Layout;
  visible: Set<string> | null;
  marks: Marks;
  selected: string | null;
  select: (node: string) => void;
}

function NodeButton({ node, box, marks, isSelected, select }: {
  node: GraphNode;
  box: Layout["nodes"][number];
  marks: Marks;
  isSelected: boolean;
  select: (node: string) => void;
}): JSX.Element {
  const { icon, word } = doing(node);
  const isHere = marks.here === node.id;
  const visits = marks.visits.get(node.id) ?? 0;
  const name = middleCut(nameOf(node.id), 18);
  const slash = name.lastIndexOf("/");
  const classes = [
    "node",
    `node-${node.terminal ? "end" : node.kind}`,
    isHere && "node-here",
    visits > 0 && "node-walked",
    marks.lit.has(node.id) && "node-lit",
    marks.changed.has(node.id) && "node-changed",
    isSelected && "node-selected",
  ];
  return (
    <button
      type="button"
      class={classes.filter(Boolean).join(" ")}
      style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }}
      aria-pressed={isSelected}
      title={node.id}
      data-node={node.id}
      onClick={() => select(node.id)}
    >
      <Icon name={node.entry ? "start" : icon} />
      <span class="node-name">
        <span class="node-module">{name.slice(0, slash + 1)}</span>
        <span class="node-leaf">{name.slice(slash + 1)}</span>
      </span>{" "}
      <span class="node-does">{isHere ? "stands here" : word}</span>
      {node.entry && <span class="unseen"> start</span>}
      {visits > 1 && <span class="node-visits"> {visits}×</span>}
    </button>
  );
}

/** The buttons of the nodes in sight, in reading order, so that Tab goes along the edges. */
export function Nodes({ graph, layout, visible, marks, selected, select }: Props): JSX.Element {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const boxes = layout.nodes.filter((box) => visible === null || visible.has(box.id)).sort((one, other) => one.y - other.y || one.x - other.x);
  return (
    <>
      {boxes.map((box) => {
        const node = nodes.get(box.id);
        return node && <NodeButton key={box.id} node={node} box={box} marks={marks} isSelected={selected === box.id} select={select} />;
      })}
    </>
  );
}

/** The names of modules: a click folds an open one, and opens a folded one. */
export function Modules({ layout, marks, nodesOf, toggle }: {
  layout: Layout;
  marks: Marks;
  nodesOf: Map<string, string[]>;
  toggle: (module: LaidModule) => void;
}): JSX.Element {
  return (
    <>
      {layout.modules.map((box) => {
        const isHere = box.collapsed && marks.here !== null && nodesOf.get(box.id)?.includes(marks.here);
        const place = { left: `${box.x}px`, top: `${box.y}px`, ...(box.collapsed ? { width: `${box.width}px`, height: `${box.height}px` } : { maxWidth: `${box.width}px` }) };
        return (
          <button
            type="button"
            key={box.id}
            class={`module ${box.collapsed ? "module-folded" : ""} ${isHere ? "node-here" : ""}`}
            style={place}
            aria-expanded={!box.collapsed}
            data-module={box.id}
            onClick={() => toggle(box)}
          >
            <Icon name="chevron" class={box.collapsed ? "" : "turned"} />
            <span class="module-name">{box.id}</span>
            {box.collapsed && <span class="dim"> {box.nodes}</span>}
            <span class="unseen"> nodes</span>
          </button>
        );
      })}
    </>
  );
}
