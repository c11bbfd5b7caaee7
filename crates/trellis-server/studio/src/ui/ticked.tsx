/** A sentence whose names stand in backticks, as findings and problems have them. */

import type { JSX } from "preact";

export function Ticked({ text }: { text: string }): JSX.Element {
  // Every second piece stood between two backticks; one that is left open is a text.
  const pieces = text.split("`");
  const isName = (at: number): boolean => at % 2 === 1 && at < pieces.length - 1;
  return <>{pieces.map((piece, at) => (isName(at) ? <code key={at}>{piece}</code> : at % 2 === 1 ? `\`${piece}` : piece))}</>;
}
