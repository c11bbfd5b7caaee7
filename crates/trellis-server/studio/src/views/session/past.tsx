/** Says that a record of before is looked at, and what can be done from there. */

import type { JSX } from "preact";

import { href } from "../../state/route";
import type { Journey } from "../time/travel";
import { Icon } from "../../ui/icons";
import { Empty } from "../../ui/states";

interface Props {
  at: number;
  last: number;
  look: (seq: number) => void;
  leave: () => void;
  travel: (journey: Journey) => void;
}

/** Says that an address names a record that is not there. */
export function NoRecord({ session, at, first, last }: { session: string; at: number; first: number; last: number }): JSX.Element {
  return (
    <main class="page">
      <h1>{session}</h1>
      <Empty title={`There is no record ${at}`}>
        <p>
          The session has the records {first} to {last}. <a href={href({ view: "session", session })}>Show the newest, record {last}</a>
        </p>
      </Empty>
    </main>
  );
}

export function Past({ at, last, look, leave, travel }: Props): JSX.Element {
  return (
    <div class="bar bar-past" role="status">
      <span class="row">
        <button type="button" class="button icon-only" aria-label="The record before" title="[" onClick={() => look(at - 1)}>
          <Icon name="chevron" class="turned-back" />
        </button>
        <span>
          You look at record {at} of {last}
        </span>
        <button type="button" class="button icon-only" aria-label="The record behind" title="]" onClick={() => look(at + 1)}>
          <Icon name="chevron" />
        </button>
      </span>
      <span class="row">
        <button type="button" class="button" onClick={() => travel({ kind: "fork", at })}>
          Fork here
        </button>
        <button type="button" class="button" onClick={() => travel({ kind: "back", to: at })}>
          Go back to here
        </button>
        <button type="button" class="button primary" onClick={leave}>
          Go on from now
        </button>
      </span>
    </div>
  );
}
