/** The page that a chat shows beside a session: Here, and what the chat is told of it. */

import type { JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";

import { Announced } from "../ui/announced";
import { Loading } from "../ui/states";
import { Here } from "../views/session/here";
import { PARTS } from "./elsewhere";
import { isForModel } from "./result";
import { absence, announcement, canAnswer, canTell, isNews, isStill, lookAgain, openLink, refusal, send, sending, talk, tell } from "./talk";

/** Does what a sandbox leaves out: links are opened by the host alone, and forms send without being submitted. Enter in a field is a press, too. */
function press(event: MouseEvent): void {
  const pressed = event.target instanceof Element ? event.target.closest("a, button[type=submit]") : null;
  if (!pressed) return;
  event.preventDefault();
  if (pressed instanceof HTMLButtonElement) pressed.form?.dispatchEvent(new SubmitEvent("submit", { bubbles: true, cancelable: true, submitter: pressed }));
  else if (pressed instanceof HTMLAnchorElement && /^(https?|mailto):/.test(pressed.getAttribute("href") ?? "")) openLink(pressed.href);
}

function Shown(): JSX.Element {
  const shown = talk.value;
  // Where the chat gives less room than that, the newest is in sight.
  useLayoutEffect(() => scrollTo(0, document.body.scrollHeight), [shown?.turn.seq, shown?.turn.stop.type]);
  if (shown === null) return absence.value === null ? <Loading lines={3} /> : <p role="status">{absence.value}</p>;
  const { turn, log } = shown;
  const walked = {
    turn,
    log,
    progress: new Map<string, string>(),
    isSending: !canAnswer.value || (sending.value !== null && turn.seq <= sending.value),
    refusal: refusal.value,
    send,
    decide: () => Promise.resolve(false),
    halt: null,
  };
  return (
    <>
      <h1>
        {turn.graph || "Session"} <code class="dim">{turn.session}</code>
      </h1>
      <Here session={turn.session} walked={walked} parts={PARTS} />
      {!canAnswer.value && !isForModel(turn.stop) && <p class="guest-note">This chat does not take answers from pages: answer in the chat itself.</p>}
      {isStill.value && (
        <p class="guest-note">
          <button type="button" class="button" onClick={lookAgain}>
            Look again
          </button>
        </p>
      )}
      {isNews.value && isForModel(turn.stop) && canTell.value && (
        <p class="guest-note">
          <button type="button" class="button primary" onClick={() => void tell()}>
            Go on in the chat
          </button>
        </p>
      )}
    </>
  );
}

export function Page(): JSX.Element {
  return (
    <main class="guest" onClick={press}>
      <Shown />
      <Announced {...announcement.value} />
    </main>
  );
}
