/** The name of a session, how it stands, and what can be done with it. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { exportSession, reply, removeSession } from "../../api/routes";
import { type Problem, problemOf, requestKey } from "../../api/client";
import type { Turn } from "../../api/types";
import { announce } from "../../shell/overlays";
import { open } from "../../state/route";
import { Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icons";
import { hasEnded, Standing } from "../../ui/standing";
import { Failed } from "../../ui/states";
import type { Journey } from "../time/travel";

/** The children of a session, the one that asks first. */
function childrenOf(turn: Turn): string[] {
  const named = [turn.child, ...(turn.others ?? []).map((other) => other.child)];
  return [...new Set(named.filter((child) => child !== undefined))];
}

function Removal({ turn, close }: { turn: Turn; close: () => void }): JSX.Element {
  const [problem, setProblem] = useState<Problem | null>(null);
  const remove = (): void => {
    removeSession(turn.session, turn.seq).then(
      () => {
        announce(`Removed ${turn.session}`);
        open({ view: "sessions" });
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <Dialog title="Remove the session" close={close}>
      <h2>Remove {turn.session}?</h2>
      <p>Its {turn.seq} records go for good. What its calls did elsewhere stays.</p>
      {problem && <Failed problem={problem} />}
      <p class="row end">
        <button type="button" class="button quiet" onClick={close}>
          Cancel
        </button>
        <button type="button" class="button danger" onClick={remove}>
          Remove
        </button>
      </p>
    </Dialog>
  );
}

/** A file that the browser saves. */
function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function SessionHead({ turn, travel }: { turn: Turn; travel: (journey: Journey) => void }): JSX.Element {
  const [isRemoved, setRemoved] = useState(false);
  const children = childrenOf(turn);
  return (
    <div class="session-head">
      <h1>{turn.session}</h1>
      <Standing of={turn.standing} stop={turn.stop} isHalted={turn.paused} />
      <code class="dim session-node">{turn.node}</code>
      {children.length > 0 && (
        <ul class="children" aria-label="Children that wait">
          {children.map((child) => (
            <li key={child} class={child === turn.child ? "asks-first" : ""}>
              <Icon name="fork" />
              <span title={child}>{child}</span>
            </li>
          ))}
        </ul>
      )}
      <div class="session-tools">
        <button type="button" class="button quiet" onClick={() => travel({ kind: "goto", node: "" })} title="Enter another node">
          <Icon name="goto" /> Go to…
        </button>
        <button type="button" class="button quiet" onClick={() => travel({ kind: "fork", at: turn.seq - 1 })} title="A new session from here">
          <Icon name="fork" /> Fork
        </button>
        {!hasEnded(turn.standing) && (
          <button
            type="button"
            class="button quiet wide"
            title="Send the signal `interrupt`"
            onClick={() => void reply(turn.session, { signal: "interrupt" }, undefined, requestKey()).catch((error: unknown) => announce(problemOf(error).detail, true))}
          >
            <Icon name="signal" /> Interrupt
          </button>
        )}
        <button type="button" class="button quiet wide" onClick={() => void exportSession(turn.session).then((text) => download(`${turn.session}.md`, text))}>
          <Icon name="copy" /> Export
        </button>
        <button type="button" class="button quiet wide" onClick={() => setRemoved(true)}>
          <Icon name="close" /> Remove
        </button>
      </div>
      {isRemoved && <Removal turn={turn} close={() => setRemoved(false)} />}
    </div>
  );
}
