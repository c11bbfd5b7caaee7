/** Keeps a place of the drawing where it is on the screen while the layout changes around it. */

import type { Area, Layout } from "../api/types";
import type { Sight, Size } from "./view";

function boxesOf(layout: Layout): Map<string, Area> {
  const modules = layout.modules.map((box): [string, Area] => [`${box.id}/`, box]);
  return new Map([...modules, ...layout.nodes.map((box): [string, Area] => [box.id, box])]);
}

/** The sight of `after` in which the first of `preferred` that both have, or else what was nearest to the middle, stands where it stood. */
export function anchored(before: Layout, after: Layout, sight: Sight, size: Size, preferred: string[]): Sight {
  const [old, now] = [boxesOf(before), boxesOf(after)];
  const middle = { x: (size.width / 2 - sight.x) / sight.k, y: (size.height / 2 - sight.y) / sight.k };
  const distance = (box: Area): number => Math.hypot(box.x + box.width / 2 - middle.x, box.y + box.height / 2 - middle.y);
  const isInBoth = (id: string): boolean => old.has(id) && now.has(id);
  const nearest = [...old].filter(([id]) => isInBoth(id) && !id.endsWith("/")).sort(([, one], [, other]) => distance(one) - distance(other));
  const id = preferred.find(isInBoth) ?? nearest[0]?.[0];
  const [from, to] = [old.get(id ?? ""), now.get(id ?? "")];
  if (!from || !to) return sight;
  return { ...sight, x: sight.x + (from.x - to.x) * sight.k, y: sight.y + (from.y - to.y) * sight.k };
}
