/** What lies over the page. */

import { signal } from "@preact/signals";

export const isPaletteShown = signal(false);
export const isKeysShown = signal(false);
/** The graph in which a session is to begin, and the node where, if it is not the start. */
export const beginning = signal<{ graph: string; at?: string } | null>(null);

/** What is said to screen readers; `isUrgent` interrupts. */
export const announcement = signal<{ text: string; isUrgent: boolean }>({ text: "", isUrgent: false });

export function announce(text: string, isUrgent = false): void {
  announcement.value = { text, isUrgent };
}
