/** Moves a sight with pointers, wheel and keys. */

import { type Point, type Sight, zoom } from "./view";

export interface Grip {
  sight: () => Sight;
  move: (sight: Sight) => void;
  fit: () => void;
}

const STEP = 60;
const DRAG = 4;

function at(element: HTMLElement, event: { clientX: number; clientY: number }): Point {
  const box = element.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** Lets pointers and the wheel move a sight, until the returned function is called. */
export function grip(element: HTMLElement, { sight, move }: Grip): () => void {
  const pointers = new Map<number, Point>();
  let isDragged = false;

  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const now = sight();
    const isZoom = event.ctrlKey || event.metaKey || (event.deltaX === 0 && Math.abs(event.deltaY) >= 50 && Number.isInteger(event.deltaY));
    if (isZoom) move(zoom(now, Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), at(element, event)));
    else move({ ...now, x: now.x - event.deltaX, y: now.y - event.deltaY });
  };
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, at(element, event));
    isDragged = false;
  };
  const drag = (event: PointerEvent): void => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = at(element, event);
    if (!isDragged && Math.hypot(now.x - before.x, now.y - before.y) < DRAG) return;
    if (!isDragged) element.setPointerCapture(event.pointerId);
    isDragged = true;
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    const current = sight();
    const moved = { ...current, x: current.x + (now.x - before.x) / pointers.size, y: current.y + (now.y - before.y) / pointers.size };
    pointers.set(event.pointerId, now);
    if (!other) return move(moved);
    const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
    move(zoom(moved, factor, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }));
  };
  const up = (event: PointerEvent): void => void pointers.delete(event.pointerId);
  // What was dragged is not chosen besides.
  const click = (event: MouseEvent): void => {
    if (isDragged) event.stopPropagation();
    isDragged = false;
  };

  element.addEventListener("wheel", wheel, { passive: false });
  element.addEventListener("pointerdown", down);
  element.addEventListener("pointermove", drag);
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("click", click, true);
  return () => {
    element.removeEventListener("wheel", wheel);
    element.removeEventListener("pointerdown", down);
    element.removeEventListener("pointermove", drag);
    element.removeEventListener("pointerup", up);
    element.removeEventListener("pointercancel", up);
    element.removeEventListener("click", click, true);
  };
}

/** Moves a sight by a key; says whether the key was one of its own. */
export function moveByKey(key: string, { sight, move, fit }: Grip, middle: Point): boolean {
  const now = sight();
  switch (key) {
    case "ArrowLeft":
      move({ ...now, x: now.x + STEP });
      return true;
    case "ArrowRight":
      move({ ...now, x: now.x - STEP });
      return true;
    case "ArrowUp":
      move({ ...now, y: now.y + STEP });
      return true;
    case "ArrowDown":
      move({ ...now, y: now.y - STEP });
      return true;
    case "+":
    case "=":
      move(zoom(now, 1.25, middle));
      return true;
    case "-":
      move(zoom(now, 0.8, middle));
      return true;
    case "0":
      move(zoom(now, 1 / now.k, middle));
      return true;
    case "f":
      fit();
      return true;
    default:
      return false;
  }
}
