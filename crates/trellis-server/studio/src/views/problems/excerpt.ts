/** Pieces of files around a finding, and what a fix makes of them. Spans count bytes. */

import type { Diagnostic, Span } from "../../api/types";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface Excerpt {
  first: number;
  text: string;
  marked: Set<number>;
}

/** The lines of a finding with one line around. */
export function excerptOf(found: Diagnostic, source: string): Excerpt | null {
  if (found.line === null) return null;
  const lines = source.split("\n");
  const last = Math.min(found.end_line ?? found.line, found.line + 5);
  const first = Math.max(1, found.line - 1);
  const text = lines.slice(first - 1, last + 1).join("\n");
  const marked = new Set(Array.from({ length: last - found.line + 1 }, (_, at) => (found.line ?? 0) + at));
  return { first, text, marked };
}

export interface DiffLine {
  sign: " " | "-" | "+";
  text: string;
}

/** What edits change in a text, as lines that go and come, with one line around. */
export function diffOf(source: string, edits: { span: Span; text: string }[]): DiffLine[] {
  const bytes = encoder.encode(source);
  const sorted = [...edits].sort((one, other) => one.span.start - other.span.start);
  let [after, at] = ["", 0];
  for (const { span, text } of sorted) {
    after += decoder.decode(bytes.slice(at, span.start)) + text;
    at = span.end;
  }
  after += decoder.decode(bytes.slice(at));
  return diffLines(source.split("\n"), after.split("\n"));
}

/** The lines between what two texts begin with and end with alike. */
function diffLines(before: string[], after: string[]): DiffLine[] {
  let head = 0;
  while (head < Math.min(before.length, after.length) && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(before.length, after.length) - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const line = (sign: DiffLine["sign"]) => (text: string): DiffLine => ({ sign, text });
  return [
    ...before.slice(Math.max(0, head - 1), head).map(line(" ")),
    ...before.slice(head, before.length - tail).map(line("-")),
    ...after.slice(head, after.length - tail).map(line("+")),
    ...before.slice(before.length - tail, before.length - tail + 1).map(line(" ")),
  ];
}
