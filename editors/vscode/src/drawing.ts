/** The page that shows the drawing of a graph: the picture of `trellis graph`, in the colours of the editor. */

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
.node { cursor: pointer; }
.node:hover .shape, .node:focus .shape { stroke: var(--vscode-focusBorder); stroke-width: 2; }
.node:focus { outline: none; }
.node.here .shape { fill: var(--vscode-editor-selectionBackground); stroke: var(--vscode-focusBorder); stroke-width: 2; }
.node.found .shape { stroke: var(--vscode-editorError-foreground); stroke-width: 2; }
.node.warned .shape { stroke: var(--vscode-editorWarning-foreground); stroke-width: 2; }
`;

// Runs in the page: it knows the names of nodes, and tells which one was chosen.
const SCRIPT = `
const editor = acquireVsCodeApi();
const ids = new Set(JSON.parse(document.getElementById("ids").textContent));
const shapes = new Map();
for (const title of document.querySelectorAll("g > title")) {
  const text = title.textContent;
  let end = text.length;
  while (end > 0 && !ids.has(text.slice(0, end))) end = text.lastIndexOf(": ", end - 1);
  if (end <= 0) continue;
  const id = text.slice(0, end);
  const shape = title.parentNode;
  shapes.set(id, shape);
  shape.classList.add("node");
  shape.setAttribute("tabindex", "0");
  shape.setAttribute("role", "button");
  shape.addEventListener("click", () => editor.postMessage({ open: id }));
  shape.addEventListener("keydown", (event) => { if (event.key === "Enter") editor.postMessage({ open: id }); });
}
const svg = document.querySelector("svg");
let scale = 1;
addEventListener("wheel", (event) => {
  if (!event.ctrlKey || !svg) return;
  event.preventDefault();
  scale = Math.min(4, Math.max(0.1, scale * (event.deltaY < 0 ? 1.1 : 1 / 1.1)));
  svg.setAttribute("width", svg.viewBox.baseVal.width * scale);
  svg.setAttribute("height", svg.viewBox.baseVal.height * scale);
}, { passive: false });
addEventListener("message", ({ data }) => {
  for (const [id, shape] of shapes) {
    shape.classList.toggle("here", id === data.here);
    shape.classList.toggle("found", data.errors.includes(id));
    shape.classList.toggle("warned", data.warnings.includes(id));
  }
  if (data.scroll) shapes.get(data.here)?.scrollIntoView({ block: "nearest", inline: "nearest" });
});
editor.postMessage({ ready: true });
`;

/** Returns a text that can stand between tags. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter] ?? letter);
}

/** Returns the page of a drawing. Its own colours are left out, and nothing of it can run or load anything: only the script with the nonce does. */
export function page(svg: string, ids: Iterable<string>, nonce: string): string {
  const drawing = svg.replace(/<style>[\s\S]*?<\/style>/, "");
  const names = JSON.stringify([...ids]).replaceAll("<", "\\u003c");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
${drawing}
<script id="ids" type="application/json" nonce="${nonce}">${names}</script>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}

/** Returns the page that says why there is no drawing. */
export function noDrawing(reason: string, nonce: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'">
<style nonce="${nonce}">pre { white-space: pre-wrap; }</style>
</head>
<body><p>There is no drawing:</p><pre>${escaped(reason)}</pre></body>
</html>`;
}
