/** What this page only shows: whoever answers here cannot be told from the model, so people decide and type secrets elsewhere. */

import type { JSX } from "preact";

import type { ApprovalQuestion } from "../api/types";
import { Args } from "../ui/args";
import type { Parts } from "../views/session/stop";
import { lookAgain, talk } from "./talk";

/** The places where a person is known to be one, and a way to see what came of it. */
function Elsewhere({ verb, since }: { verb: string; since: string }): JSX.Element {
  return (
    <>
      <p>
        {verb} in the studio that <code>trellis serve</code> opens, or at a terminal with <code>trellis run --session {talk.value?.turn.session}</code>,
        since {since}.
      </p>
      <p>
        <button type="button" class="button" onClick={lookAgain}>
          Look again
        </button>
      </p>
    </>
  );
}

function Asked({ name, args, secrets }: Pick<ApprovalQuestion, "name" | "args" | "secrets">): JSX.Element {
  return (
    <>
      <p class="decision-call">
        <code>{name}</code>
      </p>
      <Args args={args} secrets={secrets} />
    </>
  );
}

export const PARTS: Parts = {
  Approval: ({ question, notes }) => (
    <div class="decision">
      <p class="decision-ask">{question.ask ?? "This call waits for the approval of a person."}</p>
      <Asked {...question} />
      {notes.length > 0 && <p class="dim">{notes.join(" ")}</p>}
      <Elsewhere verb="A person decides" since="nobody can tell an answer of this page from one of the model" />
    </div>
  ),
  Secret: () => (
    <div class="decision">
      <p class="decision-ask">A secret is asked for.</p>
      <Elsewhere verb="It is typed" since="what is typed here goes through the chat" />
    </div>
  ),
  OpenCall: ({ call }) => (
    <div class="decision">
      <p class="decision-ask">The model of this chat carries out the next call with its own tools.</p>
      <Asked {...call} />
      <p>
        <button type="button" class="button" onClick={lookAgain}>
          Look again
        </button>
      </p>
    </div>
  ),
};
