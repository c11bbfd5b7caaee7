/** The text of a file with line numbers. */

import type { JSX } from "preact";

/** A text from line `first` on; `marked` lines stand out. */
export function Source({ text, first = 1, marked = new Set() }: { text: string; first?: number; marked?: Set<number> }): JSX.Element {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <pre class="source" tabIndex={0} aria-label="Source">
      <code>
        {lines.map((line, at) => (
          <span key={at} class={`source-line ${marked.has(first + at) ? "source-marked" : ""}`}>
            <span class="source-number" aria-hidden="true">
              {first + at}
            </span>
            <span class="source-text">{line === "" ? " " : line}</span>
          </span>
        ))}
      </code>
    </pre>
  );
}
