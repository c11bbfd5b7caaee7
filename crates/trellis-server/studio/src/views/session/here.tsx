/** Here: a talk with the graph. What nodes said, what was answered, and the question of now. */

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { Problem } from "../../api/problem";
import type { Reply, Said, Turn } from "../../api/types";
import { isField } from "../../ui/keys";
import { Html } from "../../ui/html";
import { Countdown } from "../../ui/time";
import { draftOf } from "./drafts";
import { Refusal } from "./refusal";
import type { Exchange } from "./exchanges";
import { type Halt, type Parts, StopView } from "./stop";

function SaidBy({ said }: { said: Said[] }): JSX.Element {
  return (
    <>
      {said.map((text, at) => (
        <article class="said-by" key={at}>
          <p class="said-node">
            {text.child && <span>{text.child} · </span>}
            {text.node}
          </p>
          {text.html === undefined ? <p>{text.text}</p> : <Html class="said" html={text.html} />}
        </article>
      ))}
    </>
  );
}

function Before({ log }: { log: Exchange[] }): JSX.Element {
  return (
    <>
      {log.map((exchange) => (
        <div class="exchange" key={exchange.seq}>
          <SaidBy said={exchange.said} />
          {exchange.answer !== null && exchange.answer !== "" && <p class="answer">{exchange.answer}</p>}
        </div>
      ))}
    </>
  );
}

function Budget({ budget }: { budget: NonNullable<Turn["budget"]> }): JSX.Element {
  const parts = [
    budget.calls && { name: "calls", ...budget.calls },
    budget.tokens && { name: "tokens", ...budget.tokens },
  ].filter((part) => part !== undefined);
  return (
    <p class="budget dim">
      {parts.map((part) => (
        <span key={part.name}>
          <meter value={part.used} max={part.max} aria-label={`${part.name} used`} /> {part.used} of {part.max} {part.name}
        </span>
      ))}
    </p>
  );
}

/** Why calls were held, as policies told it. */
function notesOf(turn: Turn): string[] {
  return turn.happened.flatMap(({ type, payload }) => {
    const isPolicy = type === "POLICY" && typeof payload === "object" && payload !== null && !Array.isArray(payload);
    return isPolicy && Array.isArray(payload.notes) ? payload.notes.filter((note) => typeof note === "string") : [];
  });
}

/** A session as it goes, and what can be done about it. */
export interface Walk {
  /** What this page saw before the turn of now. */
  log: Exchange[];
  /** What running calls write. */
  progress: Map<string, string>;
  isSending: boolean;
  /** Why the last reply was refused, and the question that it was meant for. */
  refusal: { problem: Problem; seq: number } | null;
  /** Sends a reply; says whether it was taken. `answer` is what the log shows. */
  send: (body: Reply, answer: string) => Promise<boolean>;
  /** Decides about a held call. */
  decide: (call: string, decision: "approve" | "deny", because?: string) => Promise<boolean>;
  /** Stops what runs; absent where nobody may. */
  halt: Halt | null;
}

export function Here({ session, walked, parts }: { session: string; walked: Walk & { turn: Turn }; parts: Parts }): JSX.Element {
  const { turn, log, progress, isSending, refusal, send, decide, halt } = walked;
  const scroll = useRef<HTMLDivElement>(null);
  const ask = useRef<HTMLDivElement>(null);
  const skew = turn.now - Date.now();

  // The newest is in sight, and the question has the focus, unless somebody types elsewhere.
  useLayoutEffect(() => {
    scroll.current?.scrollTo({ top: scroll.current.scrollHeight });
    const active = document.activeElement;
    const isFree = active === document.body || active === null || ask.current?.contains(active) || !isField(active);
    // A page within another one leaves the focus there, until somebody is in it.
    const isOurs = window.parent === window || document.hasFocus();
    if (isOurs && isFree && document.querySelector("dialog[open]") === null) ask.current?.querySelector<HTMLElement>("[data-ask]")?.focus({ preventScroll: true });
  }, [turn.seq, turn.stop.type]);

  const reply: typeof send = async (body, words) => {
    const draft = "input" in body ? draftOf(session, body.to ?? turn.child ?? "") : null;
    const sent = draft?.peek() ?? "";
    // What is typed from here on is for the next question.
    if (draft) draft.value = "";
    const isTaken = await send(body, words);
    if (draft && !isTaken) draft.value = sent + draft.peek();
    return isTaken;
  };
  const others = turn.others ?? [];
  return (
    <section class="here" aria-label="Here">
      <div class="here-scroll" ref={scroll} tabIndex={0} role="region" aria-label="What was said">
        <Before log={log} />
        <SaidBy said={turn.said} />
      </div>
      <div class="here-ask" ref={ask}>
        {turn.due !== null && turn.stop.type !== "SLEEPING" && (
          <p class="due dim">
            {turn.stop.type === "APPROVAL" ? "expires in" : "waits for"} <Countdown due={turn.due} skew={skew} />
          </p>
        )}
        {refusal && <Refusal refusal={refusal} seq={turn.seq} />}
        <StopView
          key={`${turn.child ?? ""} ${turn.stop.type}`}
          parts={parts}
          session={session}
          child={turn.child}
          stop={turn.stop}
          isFirst
          isSending={isSending}
          isHalted={turn.paused === true}
          skew={skew}
          progress={progress}
          notes={notesOf(turn)}
          send={(body, words) => void reply(body, words)}
          decide={(call, decision, because) => void decide(call, decision, because)}
          halt={halt}
        />
        {turn.budget && <Budget budget={turn.budget} />}
        {others.length > 0 && (
          <section class="others">
            <h2 class="minor">Also waits</h2>
            {others.map((other) => (
              <details key={`${other.child ?? ""} ${other.stop.type} ${other.node}`}>
                <summary>
                  {other.child ?? session} · <code>{other.node}</code>
                </summary>
                <StopView
                  parts={parts}
                  session={session}
                  child={other.child}
                  stop={other.stop}
                  isFirst={false}
                  isSending={isSending}
                  isHalted={turn.paused === true}
                  skew={skew}
                  progress={progress}
                  notes={[]}
                  send={(body, words) => void reply(body, words)}
                  decide={(call, decision, because) => void decide(call, decision, because)}
                  halt={halt}
                />
              </details>
            ))}
          </section>
        )}
      </div>
    </section>
  );
}
