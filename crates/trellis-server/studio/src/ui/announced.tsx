/** News for who does not see the page: told politely, or at once where it is urgent. */

import type { JSX } from "preact";

export function Announced({ text, isUrgent }: { text: string; isUrgent: boolean }): JSX.Element {
  return (
    <>
      <div class="unseen" aria-live="polite">
        {isUrgent ? "" : text}
      </div>
      <div class="unseen" role="alert">
        {isUrgent ? text : ""}
      </div>
    </>
  );
}
