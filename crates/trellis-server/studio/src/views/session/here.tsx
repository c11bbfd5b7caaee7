/** Here: a talk with the graph. What nodes said, what was answered, and the question of now. */

import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Problem } from "../../api/problem";
import type { Reply, Said, Turn } from "../../api/types";
import { isField } from "../../ui/keys";
import { Html } from "../../ui/html";
import { Countdown } from "../../ui/time";
import { Beside } from "./beside";
import { draftOf } from "./drafts";
import { type Exchange, lastOf, placeOf } from "./exchanges";
import { Refusal } from "./refusal";
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
  /** The place that the last reply was for. */
  const [answered, setAnswered] = useState("");

  // The newest is in sight, and the question has the focus, unless somebody types elsewhere.
  useLayoutEffect(() => {
    scroll.current?.scrollTo({ top: scroll.current.scrollHeight });
    const active = document.activeElement;
    const isFree = active === document.body || active === null || (ask.current?.contains(active) && !active.closest(".others")) || !isField(active);
    // A page within another one leaves the focus there, until somebody is in it.
    const isOurs = window.parent === window || document.hasFocus();
    if (isOurs && isFree && document.querySelector("dialog[open]") === null) ask.current?.querySelector<HTMLElement>("[data-ask]")?.focus({ preventScroll: true });
  }, [turn.seq, turn.stop.type]);

  const reply: typeof send = async (body, words) => {
    const asker = "input" in body ? (body.to ?? turn.child ?? "") : null;
    const draft = asker === null ? null : draftOf(session, asker === session ? "" : asker);
    const sent = draft?.peek() ?? "";
    // What is typed from here on is for the next question.
    if (draft) draft.value = "";
    const isTaken = await send(body, words);
    if (draft && !isTaken) draft.value = sent + draft.peek();
    return isTaken;
  };
  const others = turn.others ?? [];
  const isBeside = (child: string | undefined): boolean => child !== undefined && child !== turn.child && others.some((other) => other.child === child);
  const refusedBeside = others.find((other) => placeOf(other) === answered);
  const common = { parts, session, isSending, isHalted: turn.paused === true, skew: turn.now - Date.now(), progress, halt };
  const answers = (place: string): Pick<Parameters<typeof StopView>[0], "send" | "decide"> => ({
    send: (body, words) => {
      setAnswered(place);
      void reply(body, words);
    },
    decide: (call, decision, because) => {
      setAnswered(place);
      void decide(call, decision, because);
    },
  });
  return (
    <section class="here" aria-label="Here">
      <div class="here-scroll" ref={scroll} tabIndex={0} role="region" aria-label="What was said">
        <Before log={log} />
        <SaidBy said={turn.said.filter(({ child }) => !isBeside(child))} />
      </div>
      <div class="here-ask" ref={ask}>
        {turn.due !== null && turn.stop.type !== "SLEEPING" && (
          <p class="due dim">
            {turn.stop.type === "APPROVAL" ? "expires in" : "waits for"} <Countdown due={turn.due} skew={common.skew} />
          </p>
        )}
        <StopView
          key={`${turn.child ?? ""} ${turn.stop.type}`}
          {...common}
          {...answers(placeOf(turn))}
          child={turn.child}
          stop={turn.stop}
          isFirst
          notes={notesOf(turn)}
        />
        {refusal && !refusedBeside && <Refusal refusal={refusal} seq={turn.seq} />}
        {turn.budget && <Budget budget={turn.budget} />}
        {others.length > 0 && (
          <section class="others">
            <h2 class="minor">Also waits</h2>
            {others.map((other) => (
              <Beside key={placeOf(other)} session={session} other={other} said={isBeside(other.child) ? lastOf(turn.said, other.child) : undefined}>
                <StopView {...common} {...answers(placeOf(other))} child={other.child} stop={other.stop} isFirst={false} notes={[]} />
                {refusal && other === refusedBeside && <Refusal refusal={refusal} seq={turn.seq} />}
              </Beside>
            ))}
          </section>
        )}
      </div>
    </section>
  );
}
