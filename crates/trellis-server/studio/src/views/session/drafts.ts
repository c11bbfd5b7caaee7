/** What was typed and not sent, for each question of a session. It outlives the view, and a question that is asked anew. */

import { signal, type Signal } from "@preact/signals";

const drafts = new Map<string, Signal<string>>();

/** The draft for what `asker` asks in a session. */
export function draftOf(session: string, asker: string): Signal<string> {
  const key = `${session}\n${asker}`;
  const known = drafts.get(key);
  if (known) return known;
  const draft = signal("");
  drafts.set(key, draft);
  return draft;
}
