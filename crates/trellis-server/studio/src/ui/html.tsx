/** HTML that the server made of Markdown: nothing in it can run, and its links leave the page alone. */

import type { JSX } from "preact";

export function Html({ html, class: className = "" }: { html: string; class?: string }): JSX.Element {
  return <div class={`prose ${className}`} dangerouslySetInnerHTML={{ __html: html }} />;
}
