/** The page that shows the drawing of a graph: the picture of `trellis graph`, in the colours of the editor. */

import { modulesOf } from "./modules.ts";

/** A node as `trellis graph --format json` tells it. */
export interface DrawnNode {
  id: string;
  /** The file, relative to the folder of the graph; `null` for an end. */
  path: string | null;
  /** The line, from 1. */
  line: number | null;
}

/** Returns the nodes that have a place in a file, by id. */
export function nodesIn(output: string): Map<string, DrawnNode> {
  const { nodes } = JSON.parse(output) as { nodes: DrawnNode[] };
  return new Map(nodes.filter((node) => node.path !== null).map((node) => [node.id, node]));
}

/** Returns the node that holds a line of a file: the last that begins at or above it, or the one of which only the key is written there. */
export function nodeAt(nodes: Iterable<DrawnNode>, path: string, line: number, written = ""): string | undefined {
  const key = /^\s*["']?([^"':]+)["']?:\s*$/.exec(written)?.[1];
  let found: DrawnNode | undefined;
  for (const node of nodes) {
    if (node.path !== path) continue;
    const begins = node.line ?? 1;
    if (begins === line + 1 && key !== undefined && (node.id === key || node.id.endsWith(`/${key}`))) return node.id;
    if (begins <= line && begins >= (found?.line ?? 0)) found = node;
  }
  return found?.id;
}

const STYLE = `
body { padding: 8px; }
[hidden] { display: none; }
#note { position: sticky; top: 0; left: 0; padding: 4px; color: var(--vscode-editorWarning-foreground); background: var(--vscode-editor-background); }
pre { white-space: pre-wrap; }
svg { fill: var(--vscode-editor-foreground); max-width: none; }
.ground { fill: transparent; }
.box { fill: var(--vscode-sideBar-background); stroke: var(--vscode-widget-border, var(--vscode-editorWidget-border)); }
.name { fill: var(--vscode-descriptionForeground); stroke: var(--vscode-sideBar-background); }
.dim, .label text { fill: var(--vscode-descriptionForeground); }
.shape { fill: var(--vscode-editorWidget-background); stroke: var(--vscode-editorWidget-border, var(--vscode-foreground)); }
.line { stroke: var(--vscode-descriptionForeground); }
.head { fill: var(--vscode-descriptionForeground); }
.start { fill: var(--vscode-charts-green); }
.ring, .finished { stroke: var(--vscode-charts-green); }
.failed { stroke: var(--vscode-charts-red); }
.denied { stroke: var(--vscode-charts-orange); }
.rolled_back { stroke: var(--vscode-charts-purple); }
.node, .opened { cursor: pointer; }
.opened:hover, .opened:focus { text-decoration: underline; fill: var(--vscode-textLink-foreground); outline: none; }
.node:hover .shape, .node:focus .shape { stroke: var(--vscode-focusBorder); stroke-width: 2; }
.node:focus { outline: none; }
.node.here .shape { fill: var(--vscode-editor-selectionBackground); stroke: var(--vscode-focusBorder); stroke-width: 2; }
.node.found .shape { stroke: var(--vscode-editorError-foreground); stroke-width: 2; }
.node.warned .shape { stroke: var(--vscode-editorWarning-foreground); stroke-width: 2; }
`;

// Runs in the page. It gets the drawing, and which of its nodes are lit and marked; it tells which node was chosen, and which module was opened or closed.
// What it has to remember while it is hidden is in the state that the editor keeps: how large the drawing is, which part is seen, and which node was lit.
const SCRIPT = `
const editor = acquireVsCodeApi();
const [holder, note, reason] = ["drawing", "note", "reason"].map((id) => document.getElementById(id));
const state = Object.assign({ scale: 1, x: 0, y: 0, here: undefined }, editor.getState());
const keep = (changes) => editor.setState(Object.assign(state, changes));
let nodes = new Map();
let closed = new Map();
let opened = new Map();
let isRestored = false;
let toggled;

function button(element, act) {
  element.setAttribute("tabindex", "0");
  element.setAttribute("role", "button");
  element.addEventListener("click", act);
  element.addEventListener("keydown", (event) => { if (event.key === "Enter") act(); });
}

const boxOf = (module) => closed.get(module) ?? opened.get(module);

function toggle(module, isOpen) {
  const { left, top } = boxOf(module).getBoundingClientRect();
  toggled = { module, left, top };
  editor.postMessage({ module, isOpen });
}

function resize() {
  const svg = holder.firstElementChild;
  svg.setAttribute("width", svg.viewBox.baseVal.width * state.scale);
  svg.setAttribute("height", svg.viewBox.baseVal.height * state.scale);
}

function draw({ drawing, ids, modules }) {
  const svg = document.importNode(new DOMParser().parseFromString(drawing, "image/svg+xml").documentElement, true);
  [nodes, closed, opened] = [new Map(), new Map(), new Map()];
  const [known, boxes] = [new Set(ids), new Set(modules)];
  for (const title of svg.querySelectorAll("g > title")) {
    const text = title.textContent;
    const shape = title.parentNode;
    if (boxes.has(text)) {
      closed.set(text, shape);
      shape.classList.add("node", "closed");
      shape.setAttribute("aria-label", "Open " + text);
      button(shape, () => toggle(text, true));
      continue;
    }
    let end = text.lastIndexOf(": ");
    while (end > 0 && !known.has(text.slice(0, end))) end = text.lastIndexOf(": ", end - 1);
    if (end <= 0) continue;
    const id = text.slice(0, end);
    nodes.set(id, shape);
    shape.classList.add("node");
    button(shape, () => editor.postMessage({ open: id }));
  }
  for (const name of svg.querySelectorAll(".name")) {
    const module = name.textContent;
    if (!boxes.has(module)) continue;
    opened.set(module, name);
    name.classList.add("opened");
    name.setAttribute("aria-label", "Close " + module);
    button(name, () => toggle(module, false));
  }
  holder.replaceChildren(svg);
  resize();
  settle();
}

// Shows the part of the drawing that was seen before; a module that was opened or closed stays where it was.
function settle() {
  if (!isRestored) scrollTo(state.x, state.y);
  isRestored = true;
  const box = toggled && boxOf(toggled.module);
  if (box) {
    const { left, top } = box.getBoundingClientRect();
    scrollBy(left - toggled.left, top - toggled.top);
    box.focus({ preventScroll: true });
  }
  toggled = undefined;
}

// The shape of a node; in a closed module, that of the module.
function shapeOf(id) {
  return nodes.get(id) ?? [...closed].find(([module]) => id.startsWith(module + "/"))?.[1];
}

function light({ here, errors, warnings }) {
  const lit = shapeOf(here);
  const [found, warned] = [errors, warnings].map((ids) => new Set(ids.map(shapeOf)));
  for (const shape of [...nodes.values(), ...closed.values()]) {
    shape.classList.toggle("here", shape === lit);
    shape.classList.toggle("found", found.has(shape));
    shape.classList.toggle("warned", warned.has(shape));
  }
  if (here === state.here) return;
  keep({ here });
  lit?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

addEventListener("wheel", (event) => {
  if (!event.ctrlKey || !holder.firstElementChild) return;
  event.preventDefault();
  const before = state.scale;
  keep({ scale: Math.min(4, Math.max(0.1, before * (event.deltaY < 0 ? 1.1 : 1 / 1.1))) });
  resize();
  const grown = state.scale / before;
  scrollTo((scrollX + event.clientX) * grown - event.clientX, (scrollY + event.clientY) * grown - event.clientY);
}, { passive: false });
addEventListener("scroll", () => keep({ x: scrollX, y: scrollY }));
addEventListener("message", ({ data }) => {
  if (data.drawing !== undefined) draw(data);
  if (data.here !== undefined) light(data);
  if (data.reason === undefined) return;
  const isOld = data.reason !== "" && holder.firstElementChild !== null;
  note.hidden = !isOld;
  reason.hidden = data.reason === "" || isOld;
  reason.textContent = "There is no drawing:\\n\\n" + data.reason;
});
editor.postMessage({ ready: true });
`;

/** What the page is told of a drawing. */
export interface Drawing {
  drawing: string;
  /** The nodes that can be opened. */
  ids: string[];
  modules: string[];
}

/** Returns a drawing as its page takes it. Its own colours are left out. */
export function drawingOf(svg: string, ids: Iterable<string>): Drawing {
  const known = [...ids];
  return { drawing: svg.replace(/<style>[\s\S]*?<\/style>/, ""), ids: known, modules: modulesOf(known) };
}

/** Returns the page of a graph, which is told its drawings. Nothing of them can run or load anything: only the script with the nonce does. */
export function page(nonce: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<div id="note" hidden>The graph cannot be drawn as it is saved. This is how it was before.</div>
<pre id="reason" hidden></pre>
<div id="drawing"></div>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}
