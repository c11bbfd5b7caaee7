/** What was given up: calls of sessions, and messages that could not be sent. Each is tried again or dropped in place. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Problem, problemOf } from "../../api/client";
import { refreshAll } from "../../api/live";
import { dropCall, dropMessage, retryCall, retryMessage } from "../../api/routes";
import type { DeadCall, DeadMessage, Json } from "../../api/types";
import { announce } from "../../shell/overlays";
import { deadCalls, deadMessages, deadProblem, refreshDead } from "../../state/dead";
import { href } from "../../state/route";
import { Filter, fits } from "../../ui/filter";
import { Empty, Failed, Loading } from "../../ui/states";
import { Ticked } from "../../ui/ticked";
import { Ago } from "../../ui/time";
import { brief, Value } from "../../ui/value";

/** What is done about a letter; a problem stays in sight, and so does the letter. */
function useDeed(): { isBusy: boolean; problem: Problem | null; does: (words: string, work: () => Promise<unknown>) => void } {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const does = (words: string, work: () => Promise<unknown>): void => {
    setBusy(true);
    setProblem(null);
    work()
      .then(() => announce(words), (error: unknown) => setProblem(problemOf(error)))
      .finally(() => {
        setBusy(false);
        refreshAll();
      });
  };
  return { isBusy, problem, does };
}

/** Why the last attempt failed, in a line. */
function reason(letter: DeadCall): string {
  const told = letter.error ?? letter.denied ?? letter.result ?? null;
  const message = typeof told === "object" && told !== null && !Array.isArray(told) ? told["message"] : told;
  return brief(message ?? told, 400);
}

function Buttons({ isBusy, retry, drop, what }: { isBusy: boolean; retry: () => void; drop: () => void; what: string }): JSX.Element {
  return (
    <p class="row">
      <button type="button" class="button" disabled={isBusy} onClick={retry} aria-label={`Retry ${what}`}>
        Retry
      </button>
      <button type="button" class="button quiet" disabled={isBusy} onClick={drop} aria-label={`Drop ${what}`}>
        Drop
      </button>
    </p>
  );
}

const CAUSES: Record<string, string> = { ended: "It failed and ended its session:", undo: "It could not be taken back:", late: "Its result came after the end:" };

function CallLetter({ letter }: { letter: DeadCall }): JSX.Element {
  const { isBusy, problem, does } = useDeed();
  const retry = async (): Promise<void> => {
    const again = await retryCall(letter);
    if (again.settled !== true) throw new Problem(200, { title: "It failed again", detail: reason(again), code: "failed-again" });
  };
  return (
    <li class="card dead-card">
      <header class="held-head">
        <h2>
          <code>{letter.tool}</code>
        </h2>
        <span class="dim">
          <a href={href({ view: "session", session: letter.session })}>{letter.session}</a> · {letter.graph} · <code>{letter.node}</code>
        </span>
      </header>
      <p class="dead-why">
        <span class="tone-failed">{CAUSES[letter.cause] ?? letter.cause.replaceAll("_", " ")}</span> {reason(letter)}
      </p>
      {letter.args && Object.keys(letter.args).length > 0 && (
        <div class="panel-inset">
          <Value value={letter.args as Json} />
        </div>
      )}
      {problem && <Failed problem={problem} />}
      <Buttons
        isBusy={isBusy}
        what={`${letter.tool} of ${letter.session}`}
        retry={() => does(`${letter.tool} was done`, retry)}
        drop={() => does(`${letter.tool} of ${letter.session} is dropped`, () => dropCall(letter))}
      />
    </li>
  );
}

export function MessageLetter({ letter }: { letter: DeadMessage }): JSX.Element {
  const { isBusy, problem, does } = useDeed();
  const chat = `${letter.provider}:${letter.chat}`;
  return (
    <li class="card dead-card">
      <header class="held-head">
        <h2>Message to {chat}</h2>
        <span class="dim">
          <Ago at={letter.at} /> · {letter.attempts} {letter.attempts === 1 ? "attempt" : "attempts"}
        </span>
      </header>
      <p class="dead-why">
        <code class="tone-failed">{letter.error.code}</code> <Ticked text={letter.error.message} />
      </p>
      <p class="panel-inset dead-text">{letter.text}</p>
      {problem && <Failed problem={problem} />}
      <Buttons
        isBusy={isBusy}
        what={`message ${letter.id} to ${chat}`}
        retry={() => does("It is sent again", () => retryMessage(letter.id))}
        drop={() => does("The message is dropped", () => dropMessage(letter.id))}
      />
    </li>
  );
}

export function DeadView(): JSX.Element {
  const words = useSignal("");
  const [calls, messages] = [deadCalls.value, deadMessages.value];
  const shownCalls = (calls ?? []).filter((letter) => fits(words.value, [letter.tool, letter.session, letter.graph, letter.node, reason(letter)]));
  const shownMessages = messages.filter((letter) => fits(words.value, [letter.provider, letter.chat, letter.text, letter.error.code]));
  const [all, shown] = [(calls?.length ?? 0) + messages.length, shownCalls.length + shownMessages.length];
  return (
    <main class="page">
      <h1>Dead letters</h1>
      {calls === null && (deadProblem.value ? <Failed problem={deadProblem.value} again={() => void refreshDead()} /> : <Loading />)}
      {calls !== null && all === 0 && (
        <Empty title="Nothing was given up">
          <p>A call that failed at every attempt waits here until somebody tries it again or drops it.</p>
        </Empty>
      )}
      {all > 1 && (
        <div class="filters">
          <Filter words={words} label="Tool, session or reason" />
        </div>
      )}
      {all > 0 && shown === 0 && <Empty title="No dead letter has these words" />}
      <ul class="held-list">
        {shownMessages.map((letter) => (
          <MessageLetter letter={letter} key={`message ${letter.id}`} />
        ))}
        {shownCalls.map((letter) => (
          <CallLetter letter={letter} key={letter.key} />
        ))}
      </ul>
    </main>
  );
}
