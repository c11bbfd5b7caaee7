/** What part of a drawing is in sight: a point of the drawing times `k`, moved by `x` and `y`, is its place on the screen. */

import type { Layout } from "../api/types";

export interface Sight {
  x: number;
  y: number;
  k: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

const MIN = 0.02;
const MAX = 3;
const MARGIN = 32;
/** The zoom that a small graph gets at most when it is fitted. */
const NATURAL = 1.15;

/** The whole drawing. */
export function fit(layout: Layout, size: Size): Sight {
  const k = clamp(
    Math.min((size.width - 2 * MARGIN) / Math.max(layout.width, 1), (size.height - 2 * MARGIN) / Math.max(layout.height, 1), NATURAL),
  );
  return { k, x: (size.width - layout.width * k) / 2, y: (size.height - layout.height * k) / 2 };
}

/** The same `factor` nearer; `at` stays where it is on the screen. */
export function zoom(sight: Sight, factor: number, at: Point): Sight {
  const k = clamp(sight.k * factor);
  return { k, x: at.x - ((at.x - sight.x) * k) / sight.k, y: at.y - ((at.y - sight.y) * k) / sight.k };
}

/** The zoom at which a name can be read. */
const READABLE = 0.8;

/** A sight with a box of the drawing in the middle, large enough to read; the same if it is well in sight already. */
export function reveal(sight: Sight, size: Size, box: Point & Size, k = Math.max(sight.k, READABLE)): Sight {
  const left = box.x * sight.k + sight.x;
  const top = box.y * sight.k + sight.y;
  const isInSight =
    sight.k === k &&
    left > MARGIN / 2 &&
    top > MARGIN / 2 &&
    left + box.width * k < size.width - MARGIN / 2 &&
    top + box.height * k < size.height - MARGIN / 2;
  if (isInSight) return sight;
  return { k, x: size.width / 2 - (box.x + box.width / 2) * k, y: size.height / 2 - (box.y + box.height / 2) * k };
}

function clamp(k: number): number {
  return Math.min(MAX, Math.max(MIN, k));
}
