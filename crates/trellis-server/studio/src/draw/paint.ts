/** Paints what needs no focus: boxes of modules, edges with their labels, and nodes that are too far to be elements. */

import type { Area as Box, Graph, GraphEdge, LaidEdge, Layout } from "../api/types";
import type { Colours } from "./colours";
import { type Marks, pair } from "./marks";
import type { Sight, Size } from "./view";

/** The zoom from which nodes in sight are elements. */
export const NEAR = 0.5;
/** The zoom from which edges have labels. */
const LABELLED = 0.7;
const ARROW = 6;

export interface Scene {
  graph: Graph;
  layout: Layout;
  marks: Marks;
  selected: string | null;
  colours: Colours;
}

interface Area {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Paints a scene as it is seen. */
export function paint(pen: CanvasRenderingContext2D, scene: Scene, sight: Sight, size: Size, isNear: boolean): void {
  const density = window.devicePixelRatio;
  pen.setTransform(density, 0, 0, density, 0, 0);
  pen.clearRect(0, 0, size.width, size.height);
  pen.setTransform(density * sight.k, 0, 0, density * sight.k, density * sight.x, density * sight.y);
  const area = {
    left: -sight.x / sight.k,
    top: -sight.y / sight.k,
    right: (size.width - sight.x) / sight.k,
    bottom: (size.height - sight.y) / sight.k,
  };
  paintModules(pen, scene, sight, area);
  const edges = scene.layout.edges.filter((edge) => touches(edge, area));
  for (const edge of edges) paintEdge(pen, scene, edge, sight.k);
  if (sight.k >= LABELLED) {
    // What is painted already is no place for the next label.
    const taken: Box[] = scene.layout.nodes.filter((box) => box.x <= area.right && box.y <= area.bottom && box.x + box.width >= area.left && box.y + box.height >= area.top);
    for (const edge of edges) paintLabel(pen, scene, edge, taken);
  }
  if (!isNear) paintNodes(pen, scene, sight, area);
}

function touches(edge: LaidEdge, area: Area): boolean {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of edge.points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return left <= area.right && right >= area.left && top <= area.bottom && bottom >= area.top;
}

function paintModules(pen: CanvasRenderingContext2D, { layout, colours }: Scene, sight: Sight, area: Area): void {
  pen.lineWidth = 1 / sight.k;
  for (const box of layout.modules) {
    if (box.collapsed || box.x > area.right || box.y > area.bottom || box.x + box.width < area.left || box.y + box.height < area.top) continue;
    pen.beginPath();
    pen.roundRect(box.x, box.y, box.width, box.height, 8);
    pen.fillStyle = colours.ink;
    pen.globalAlpha = 0.025;
    pen.fill();
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.line;
    pen.stroke();
    if (sight.k < NEAR && box.width * sight.k > 40) {
      pen.fillStyle = colours.dim;
      pen.font = `600 ${12 / sight.k}px system-ui, sans-serif`;
      pen.fillText(box.id, box.x + 6 / sight.k, box.y + 15 / sight.k, box.width - 12 / sight.k);
    }
  }
}

/** The numbers of the hops along the edges that a line stands for. */
function hopsOf(scene: Scene, laid: LaidEdge): number[] {
  if (scene.marks.hops.size === 0) return [];
  const numbers = new Set<number>();
  for (const at of laid.edges) {
    const edge = scene.graph.edges[at];
    if (edge) scene.marks.hops.get(pair(edge.from, edge.to))?.forEach((number) => numbers.add(number));
  }
  return [...numbers].sort((one, other) => one - other);
}

function paintEdge(pen: CanvasRenderingContext2D, scene: Scene, laid: LaidEdge, k: number): void {
  const first = scene.graph.edges[laid.edges[0] ?? -1];
  const [end, before] = [laid.points.at(-1), laid.points.at(-2)];
  if (!first || !end || !before) return;
  const { marks, selected, colours } = scene;
  const hops = hopsOf(scene, laid);
  const isLit = marks.lit.has(first.from) && marks.lit.has(first.to);
  const isOfSelected = selected !== null && laid.edges.some((at) => scene.graph.edges[at]?.from === selected || scene.graph.edges[at]?.to === selected);
  const isLast = hops.length > 0 && hops.at(-1) === marks.last;
  const colour = isLit ? colours.failed : hops.length > 0 ? colours.here : isOfSelected ? colours.accent : colours.edge;
  const isStrong = isLit || isLast;
  pen.strokeStyle = colour;
  pen.fillStyle = colour;
  pen.globalAlpha = isStrong || isOfSelected ? 1 : hops.length > 0 ? 0.75 : 0.7;
  pen.lineWidth = (isStrong ? 2.4 : hops.length > 0 || isOfSelected ? 1.7 : 1.1) / Math.min(1, Math.max(k, 0.25));
  pen.setLineDash(laid.main ? [] : [4, 3]);
  pen.beginPath();
  trace(pen, laid.points, scene.layout.direction === "down");
  pen.stroke();
  pen.setLineDash([]);
  paintHead(pen, before, end, scene.layout.direction === "down");
  pen.globalAlpha = 1;
}

/** Whether an edge is not one of the usual ones: an error, a signal, a denial, a timeout. */
function isAside(edge: GraphEdge): boolean {
  return !["pass", "answer", "success"].includes(edge.outcome);
}

/** A line through its corners; where both coordinates change, an S whose ends follow the direction of the drawing. */
function trace(pen: CanvasRenderingContext2D, points: [number, number][], isDown: boolean): void {
  points.forEach(([x, y], at) => {
    const before = points[at - 1];
    if (before === undefined) return pen.moveTo(x, y);
    const [fromX, fromY] = before;
    if (fromX === x || fromY === y) return pen.lineTo(x, y);
    const [middleX, middleY] = [(fromX + x) / 2, (fromY + y) / 2];
    return isDown ? pen.bezierCurveTo(fromX, middleY, x, middleY, x, y) : pen.bezierCurveTo(middleX, fromY, middleX, y, x, y);
  });
}

/** A head that points as the line ends: along the direction of the drawing where it ends in an S. */
function paintHead(pen: CanvasRenderingContext2D, [fromX, fromY]: [number, number], [x, y]: [number, number], isDown: boolean): void {
  const [acrossX, acrossY] = isDown && fromY !== y ? [0, y - fromY] : !isDown && fromX !== x ? [x - fromX, 0] : [x - fromX, y - fromY];
  const angle = Math.atan2(acrossY, acrossX);
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x - ARROW * Math.cos(angle - 0.45), y - ARROW * Math.sin(angle - 0.45));
  pen.lineTo(x - ARROW * Math.cos(angle + 0.45), y - ARROW * Math.sin(angle + 0.45));
  pen.fill();
}

/** What stands on an edge; nothing where a plain `to` leads on. */
export function labelOf(edge: GraphEdge): string {
  if (edge.option !== undefined) return edge.option;
  const words: string[] = [];
  if (edge.before_each) words.push("before each");
  if (edge.signal !== undefined) words.push(edge.signal);
  else if (isAside(edge)) words.push(edge.outcome.replaceAll("_", " "));
  if (edge.condition !== null) words.push(edge.condition);
  return words.join(" ");
}

function paintLabel(pen: CanvasRenderingContext2D, scene: Scene, laid: LaidEdge, taken: Box[]): void {
  const edges = laid.edges.map((at) => scene.graph.edges[at]).filter((edge) => edge !== undefined);
  // What happens when something goes wrong is told for the chosen node alone: there is much of it.
  const isTold = laid.main || edges.some((edge) => edge.from === scene.selected);
  const labels = isTold ? edges.map(labelOf) : [];
  const hops = hopsOf(scene, laid);
  const said = [...new Set(labels.filter((label) => label !== ""))];
  const label = said.length > 1 ? `${said[0]} +${said.length - 1}` : (said[0] ?? "");
  const numbers = hops.length > 3 ? `${hops.length}×` : hops.join(" ");
  const text = label.length > 26 ? `${label.slice(0, 25)}…` : label;
  if (text === "" && numbers === "") return;
  pen.font = "11px system-ui, sans-serif";
  const place = laid.label;
  const [width, height] = [pen.measureText(text === "" ? numbers : text).width + 8, text === "" || numbers === "" ? 14 : 42];
  const [x, y] = place ? [place.x + place.width / 2, place.y + place.height / 2] : freePlace(laid.points, width, height, taken);
  taken.push({ x: x - width / 2, y: y - height / 2, width, height });
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  if (label !== "") {
    plate(pen, scene.colours, text, x, y, scene.colours.dim);
  }
  if (numbers !== "") {
    pen.font = "600 11px ui-monospace, monospace";
    plate(pen, scene.colours, numbers, x, label === "" ? y : y + 14, scene.colours.here);
  }
  pen.textAlign = "start";
  pen.textBaseline = "alphabetic";
}

function plate(pen: CanvasRenderingContext2D, colours: Colours, text: string, x: number, y: number, colour: string): void {
  const width = pen.measureText(text).width + 8;
  pen.fillStyle = colours.ground;
  pen.beginPath();
  pen.roundRect(x - width / 2, y - 7, width, 14, 4);
  pen.fill();
  pen.fillStyle = colour;
  pen.fillText(text, x, y + 0.5);
}

/** Where a label is looked for along a line, the best place first. */
const SHARES = [0.5, 0.35, 0.65, 0.2, 0.8];

/** The point of a line at which a label of this size lies on no other box; the middle where there is none. */
function freePlace(points: [number, number][], width: number, height: number, taken: Box[]): [number, number] {
  const isFree = ([x, y]: [number, number]): boolean =>
    !taken.some((box) => 2 * Math.abs(x - box.x - box.width / 2) < width + box.width && 2 * Math.abs(y - box.y - box.height / 2) < height + box.height);
  const right = Math.max(...points.map(([x]) => x));
  const middle = pointAt(points, 0.5);
  // An edge from a node to itself has room beside it alone.
  const places: [number, number][] = [...SHARES.map((share) => pointAt(points, share)), [right + width / 2 + 2, middle[1]]];
  return places.find(isFree) ?? middle;
}

/** The point at a share of the way along a line. */
function pointAt(points: [number, number][], share: number): [number, number] {
  const lengths = points.slice(1).map(([x, y], at) => Math.hypot(x - (points[at]?.[0] ?? x), y - (points[at]?.[1] ?? y)));
  let left = lengths.reduce((sum, length) => sum + length, 0) * share;
  for (const [at, length] of lengths.entries()) {
    const [from, to] = [points[at], points[at + 1]];
    if (from && to && left <= length) {
      const part = length === 0 ? 0 : left / length;
      return [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part];
    }
    left -= length;
  }
  return points[0] ?? [0, 0];
}

function paintNodes(pen: CanvasRenderingContext2D, { layout, marks, selected, colours }: Scene, sight: Sight, area: Area): void {
  for (const box of layout.nodes) {
    if (box.x > area.right || box.y > area.bottom || box.x + box.width < area.left || box.y + box.height < area.top) continue;
    const isHere = marks.here === box.id;
    pen.beginPath();
    pen.roundRect(box.x, box.y, box.width, box.height, 6);
    pen.fillStyle = isHere ? colours.here : marks.visits.has(box.id) ? colours.ground : colours.panel;
    pen.fill();
    pen.lineWidth = (selected === box.id ? 2.5 : 1) / Math.max(sight.k, 0.2);
    pen.strokeStyle = selected === box.id ? colours.accent : marks.lit.has(box.id) ? colours.failed : marks.visits.has(box.id) ? colours.here : colours.edge;
    pen.stroke();
  }
  pen.lineWidth = 1;
  for (const box of layout.modules.filter((box) => box.collapsed)) {
    pen.beginPath();
    pen.roundRect(box.x, box.y, box.width, box.height, 8);
    pen.fillStyle = colours.panel;
    pen.fill();
    pen.strokeStyle = colours.edge;
    pen.stroke();
    pen.fillStyle = colours.ink;
    pen.font = `600 ${Math.min(12 / sight.k, box.height * 0.7)}px system-ui, sans-serif`;
    pen.fillText(box.id, box.x + 8, box.y + box.height * 0.65, box.width - 16);
  }
}
