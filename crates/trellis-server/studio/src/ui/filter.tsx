/** A field that narrows a list down by words. */

import type { Signal } from "@preact/signals";
import type { JSX } from "preact";

export function Filter({ words, label }: { words: Signal<string>; label: string }): JSX.Element {
  return (
    <label class="field inline">
      <span>{label}</span>
      <input type="search" value={words} onInput={(event) => (words.value = event.currentTarget.value)} />
    </label>
  );
}

/** Whether all words stand somewhere in these texts. */
export function fits(words: string, texts: (string | undefined)[]): boolean {
  const text = texts.join(" ").toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
