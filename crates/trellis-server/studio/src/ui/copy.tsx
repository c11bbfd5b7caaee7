/** A command to copy. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Icon } from "./icons";

/** A word of a command, quoted for a shell where it must be. */
export function quoted(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function Command({ text }: { text: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="button icon-only quiet" aria-label={isCopied ? "Copied" : `Copy ${text}`} onClick={() => void copy()}>
        <Icon name={isCopied ? "finished" : "copy"} />
      </button>
    </span>
  );
}
