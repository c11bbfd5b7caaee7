/** What else waits in the tree of a session: each folded behind what it asks, with its own answer and its own refusal. */

import type { ComponentChildren, JSX } from "preact";

import type { Said, Waiting } from "../../api/types";
import { Html } from "../../ui/html";
import { brief } from "../../ui/value";

/** What somebody said, as plain text. */
function plain({ html, text }: Said): string {
  const words = html === undefined ? text : (new DOMParser().parseFromString(html, "text/html").body.textContent ?? text);
  return words.replace(/\s+/g, " ").trim();
}

/** What is asked, in one line. */
function gist({ stop, node }: Waiting, said: Said | undefined): string {
  if (stop.type === "APPROVAL") return stop.payload.ask ?? stop.payload.name;
  if (stop.type === "CALL_TOOL") return [stop.payload.name, stop.payload.part].filter((part) => part !== undefined).join(" · ");
  return said === undefined ? node : brief(plain(said), 120);
}

export function Beside({ session, other, said, children }: { session: string; other: Waiting; said: Said | undefined; children: ComponentChildren }): JSX.Element {
  return (
    <details>
      <summary>
        <span class="other-gist">{gist(other, said)}</span>{" "}
        <span class="said-node">
          {other.child ?? session} · {other.node}
        </span>
      </summary>
      {said && (said.html === undefined ? <p>{said.text}</p> : <Html class="said" html={said.html} />)}
      {children}
    </details>
  );
}
