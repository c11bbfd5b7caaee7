/** A graph as a picture: a canvas for edges and for what is far, buttons for the nodes that can be read. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import type { Graph } from "../api/types";
import { theme } from "../state/theme";
import { Icon } from "../ui/icons";
import { anchored } from "./anchor";
import { type Colours, coloursOf } from "./colours";
import { grip, type Grip, moveByKey } from "./gestures";
import type { Marks } from "./marks";
import { Modules, Nodes } from "./nodes";
import { NEAR, paint } from "./paint";
import { fit, reveal, type Sight, type Size, zoom } from "./view";

/** Elements at the same time; with more nodes in sight the canvas draws them. */
const MAX_ELEMENTS = 400;
/** What is near the edge of the sight is there already, so that a small move adds nothing. */
const AROUND = 300;

export interface DrawingProps {
  graph: Graph;
  marks: Marks;
  selected: string | null;
  select: (node: string) => void;
  /** Folds a module, or opens it. */
  toggle: (module: string, isFolded: boolean) => void;
  /** Whether it is the last good version of a graph that has mistakes now. */
  isStale?: boolean;
}

export function Drawing({ graph, marks, selected, select, toggle, isStale = false }: DrawingProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const world = useRef<HTMLDivElement>(null);
  const visible = useSignal<Set<string> | null>(new Set());
  const state = useRef<{ sight: Sight; size: Size; colours: Colours | null; isFitted: boolean }>({
    sight: { x: 0, y: 0, k: 1 },
    size: { width: 0, height: 0 },
    colours: null,
    isFitted: false,
  });
  const { layout } = graph;
  const nodesOf = useMemo(() => new Map(graph.modules.map((module) => [module.id, module.nodes])), [graph]);
  const latest = useRef({ graph, layout, marks, selected });
  latest.current = { graph, layout, marks, selected };

  const draw = useRef(() => {
    const { sight, size, colours } = state.current;
    const pen = canvas.current?.getContext("2d");
    if (!pen || !world.current || colours === null) return;
    const near = sight.k >= NEAR ? inSight(latest.current.graph, sight, size) : null;
    const isNear = near !== null && near.size <= MAX_ELEMENTS;
    paint(pen, { ...latest.current, colours }, sight, size, isNear);
    world.current.style.transform = `translate(${sight.x}px, ${sight.y}px) scale(${sight.k})`;
    world.current.classList.toggle("far", !isNear);
    const shown = isNear ? near : new Set<string>();
    // The focus does not go with a node that leaves the sight, or no more keys would be heard.
    const focused = nodeOf(document.activeElement);
    if (focused !== undefined && !shown.has(focused) && world.current.contains(document.activeElement)) frame.current?.focus({ preventScroll: true });
    if (!isSame(shown, visible.peek())) visible.value = shown;
  });
  const frameAsked = useRef(0);
  const redraw = (): void => {
    cancelAnimationFrame(frameAsked.current);
    frameAsked.current = requestAnimationFrame(() => draw.current());
  };
  const hold: Grip = {
    sight: () => state.current.sight,
    move: (sight) => {
      state.current.sight = sight;
      redraw();
    },
    fit: () => hold.move(fit(latest.current.layout, state.current.size)),
  };

  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => {
      const size = { width: element.clientWidth, height: element.clientHeight };
      const before = state.current.size;
      state.current.size = size;
      if (canvas.current) {
        canvas.current.width = size.width * devicePixelRatio;
        canvas.current.height = size.height * devicePixelRatio;
      }
      if (!state.current.isFitted && size.width > 0) {
        state.current.sight = begin(latest.current.graph, size, latest.current.marks.here);
        state.current.isFitted = true;
      } else if (before.width > 0) {
        state.current.sight.x += (size.width - before.width) / 2;
        state.current.sight.y += (size.height - before.height) / 2;
      }
      draw.current();
    });
    watch.observe(element);
    const release = grip(element, hold);
    return () => {
      watch.disconnect();
      release();
    };
  }, []);

  useEffect(() => {
    const read = (): void => {
      if (frame.current) state.current.colours = coloursOf(frame.current);
      redraw();
    };
    read();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", read);
    return () => dark.removeEventListener("change", read);
  }, [theme.value]);

  const drawn = useRef(layout);
  const toggled = useRef<string[]>([]);
  useEffect(() => {
    if (drawn.current !== layout && state.current.isFitted) {
      const preferred = [...toggled.current, selected ?? marks.here ?? ""];
      state.current.sight = anchored(drawn.current, layout, state.current.sight, state.current.size, preferred);
    }
    drawn.current = layout;
    redraw();
  }, [graph, marks, selected]);

  // What is chosen, stood at, or the end of a path comes in sight.
  const focus = selected ?? marks.here ?? [...marks.lit].at(-1);
  const focused = layout.nodes.find((box) => box.id === focus);
  useEffect(() => {
    if (focused && state.current.isFitted) hold.move(reveal(state.current.sight, state.current.size, focused));
  }, [focus, focused === undefined]);
  const fold = (module: string, isFolded: boolean): void => {
    toggled.current = [`${module}/`];
    toggle(module, isFolded);
  };

  const keys = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = { x: state.current.size.width / 2, y: state.current.size.height / 2 };
    const node = nodeOf(event.target) ?? selected;
    const module = event.key === "c" && node !== null ? graph.modules.find(({ id, nodes }) => id !== "" && nodes.includes(node)) : undefined;
    if (module) {
      world.current?.querySelector<HTMLElement>(`[data-module="${CSS.escape(module.id)}"]`)?.focus({ preventScroll: true });
      fold(module.id, true);
    } else if (!moveByKey(event.key, hold, middle)) return;
    event.preventDefault();
  };
  // A node that Tab reaches comes in sight; one that a pointer took is there.
  const follow = (event: FocusEvent): void => {
    const box = layout.nodes.find(({ id }) => id === nodeOf(event.target));
    const { sight, size } = state.current;
    if (box && event.target instanceof HTMLElement && event.target.matches(":focus-visible")) hold.move(reveal(sight, size, box, sight.k));
  };
  const step = (factor: number): void =>
    hold.move(zoom(state.current.sight, factor, { x: state.current.size.width / 2, y: state.current.size.height / 2 }));

  return (
    <section class={`drawing ${isStale ? "drawing-stale" : ""}`} aria-label={`Drawing of ${graph.name}`} tabIndex={-1} ref={frame} onKeyDown={keys} onFocusIn={follow}>
      <canvas ref={canvas} class="drawing-canvas" aria-hidden="true" />
      <div ref={world} class="drawing-world">
        <Modules layout={layout} marks={marks} nodesOf={nodesOf} toggle={(box) => fold(box.id, !box.collapsed)} />
        <Nodes graph={graph} layout={layout} visible={visible.value} marks={marks} selected={selected} select={select} />
      </div>
      <div class="drawing-tools" role="group" aria-label="Zoom">
        <button type="button" class="button icon-only" aria-label="Zoom in" title="Zoom in (+)" onClick={() => step(1.25)}>
          <Icon name="plus" />
        </button>
        <button type="button" class="button icon-only" aria-label="Zoom out" title="Zoom out (-)" onClick={() => step(0.8)}>
          <Icon name="minus" />
        </button>
        <button type="button" class="button icon-only" aria-label="Fit the drawing" title="Fit (f)" onClick={hold.fit}>
          <Icon name="fit" />
        </button>
      </div>
    </section>
  );
}

/** What is shown first: all of it, where that can be read; else where the session stands or the graph begins. */
function begin(graph: Graph, size: Size, here: string | null): Sight {
  const whole = fit(graph.layout, size);
  const entry = graph.nodes.find((node) => node.entry)?.id;
  const box = graph.layout.nodes.find((box) => box.id === (here ?? entry));
  if (whole.k >= 0.55 || !box || graph.layout.nodes.length + graph.layout.modules.length > MAX_ELEMENTS) return whole;
  const k = 0.8;
  return here === null
    ? { k, x: size.width / 2 - (box.x + box.width / 2) * k, y: 40 - box.y * k }
    : { k, x: size.width / 2 - (box.x + box.width / 2) * k, y: size.height / 2 - (box.y + box.height / 2) * k };
}

function inSight(graph: Graph, sight: Sight, size: Size): Set<string> {
  const [left, top] = [(-sight.x - AROUND) / sight.k, (-sight.y - AROUND) / sight.k];
  const [right, bottom] = [(size.width - sight.x + AROUND) / sight.k, (size.height - sight.y + AROUND) / sight.k];
  const boxes = graph.layout.nodes.filter((box) => box.x < right && box.y < bottom && box.x + box.width > left && box.y + box.height > top);
  return new Set(boxes.map((box) => box.id));
}

/** The node that a button of the drawing stands for. */
function nodeOf(target: EventTarget | null): string | undefined {
  return target instanceof HTMLElement ? target.dataset.node : undefined;
}

function isSame(one: Set<string>, other: Set<string> | null): boolean {
  return other !== null && one.size === other.size && [...one].every((id) => other.has(id));
}
