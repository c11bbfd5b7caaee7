/** Icons: what a node does, how a session stands, what a button does. Each stands beside a word or has a label. */

import type { JSX } from "preact";

const PATHS = {
  // Kinds of nodes, in the shapes of `trellis graph`.
  start: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M8 6a2 2 0 1 1 0 4a2 2 0 0 1 0-4",
  pass: "M2 4.5h12v7H2z",
  listen: "M4.5 4.5H15l-3.5 7H1z",
  act: "M2 3.5h12v9H2zM4.8 3.5v9M11.2 3.5v9",
  end: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11",
  // How a session stands.
  waiting: "M5.6 6a2.4 2.4 0 1 1 3.6 2.1c-.8.5-1.2 1-1.2 1.9M8 12.6v.1",
  held: "M5.5 3.5v9M10.5 3.5v9",
  running: "M5 3.5l7 4.5l-7 4.5z",
  finished: "M3 8.5l3.4 3.5L13 4.5",
  failed: "M4 4l8 8M12 4l-8 8",
  denied: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M4.2 4.2l7.6 7.6",
  rolled_back: "M6 3L3 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H6",
  // Buttons.
  search: "M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 0 1 0-9M10.4 10.4L14 14",
  close: "M4 4l8 8M12 4l-8 8",
  chevron: "M6 4l4 4l-4 4",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  sun: "M8 5a3 3 0 1 1 0 6a3 3 0 0 1 0-6M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
  system: "M2 3.5h12v8H2zM6 14h4",
  keyboard: "M1.5 4.5h13v7h-13zM4 7h.1M6.7 7h.1M9.3 7h.1M12 7h.1M5 9.5h6",
  back: "M6 3L3 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H6",
  fork: "M5 2.5v11M5 9c0-3 6-2 6-5.5M9 5l2-2l2 2",
  edit: "M3 13l.6-2.8L10.8 3L13 5.2l-7.2 7.2z",
  goto: "M3 8h9M8.5 4.5L12 8l-3.5 3.5",
  signal: "M9 1.8L4 9h3.5L6.8 14.2L12 7H8.4z",
  clock: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M8 5v3.2l2 1.3",
  warning: "M8 2.5L14.2 13.5H1.8zM8 6.5v3.3M8 11.7v.1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, class: className = "" }: { name: IconName; class?: string }): JSX.Element {
  return (
    <svg class={`icon ${className}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
