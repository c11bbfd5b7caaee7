/** What a session, or a child of it, needs now: the one place that knows all kinds of stops. */

import type { JSX } from "preact";

import type { ApprovalQuestion, Call, Json, Reply, Stop } from "../../api/types";
import { Icon } from "../../ui/icons";
import { Countdown, duration, clock } from "../../ui/time";
import { brief } from "../../ui/value";
import { draftOf } from "./drafts";
import { Ended } from "./end";
import { ChangedCall, NeededKeys } from "./needs";
import { ConfirmQuestion } from "./questions/confirm";
import { Question } from "./questions/question";

/** What only some places offer: a page that others show beside theirs has no buttons for an approval, and no field for a secret. */
export interface Parts {
  Approval: (props: {
    question: ApprovalQuestion;
    isSent: boolean;
    hasKeys: boolean;
    notes: string[];
    decide: (decision: "approve" | "deny", because?: string) => void;
  }) => JSX.Element;
  Secret: (props: { isSending: boolean; send: (value: Json, words: string) => void }) => JSX.Element;
  OpenCall: (props: { call: Call; isSending: boolean; send: (reply: Reply, words: string) => void }) => JSX.Element;
}

interface Props {
  parts: Parts;
  session: string;
  /** The child that asks; absent for the session itself. */
  child?: string | undefined;
  stop: Stop;
  isFirst: boolean;
  isSending: boolean;
  /** Whether somebody stopped what runs. */
  isHalted: boolean;
  /** The server's clock less that of the page. */
  skew: number;
  /** What running calls write. */
  progress: Map<string, string>;
  notes: string[];
  send: (reply: Reply, words: string) => void;
  decide: (call: string, decision: "approve" | "deny", because?: string) => void;
  /** Absent where nobody may stop what runs. */
  halt: Halt | null;
}

/** Stops what runs, and lets it go on. */
export interface Halt {
  stop: () => void;
  goOn: () => void;
}

function Running({ stop, isHalted, skew, progress, halt }: Pick<Props, "isHalted" | "skew" | "progress" | "halt"> & { stop: Extract<Stop, { type: "RUNNING" }> }): JSX.Element {
  const { call, node, since } = stop.payload;
  const written = call ? progress.get(call.id) : undefined;
  return (
    <div class="running">
      <p class="row">
        <span class="standing tone-running">
          {isHalted ? <Icon name="held" /> : <span class="spinner" aria-hidden="true" />}
          {isHalted ? "stopped" : call ? "calls" : "runs"}
        </span>
        <code>{call?.name ?? node}</code>
        {call && call.attempt > 1 && <span class="dim">attempt {call.attempt}</span>}
        {!isHalted && <span class="dim">{duration(Math.max(0, clock.value + skew - since))}</span>}
        {halt && (
          <button type="button" class="button" onClick={isHalted ? halt.goOn : halt.stop}>
            {isHalted ? "Go on" : "Stop"}
          </button>
        )}
      </p>
      {written !== undefined && (
        <pre class="progress" tabIndex={0} aria-label="What the call writes">
          {written}
        </pre>
      )}
    </div>
  );
}

export function StopView(props: Props): JSX.Element {
  const { parts, session, child, stop, isFirst, isSending, isHalted, skew, progress, notes, send, decide, halt } = props;
  const to = isFirst ? {} : { to: child ?? session };
  switch (stop.type) {
    case "REQUEST_INPUT":
      if (stop.payload.input_type === "secret") return <parts.Secret isSending={isSending} send={(input, words) => send({ input, ...to }, words)} />;
      return (
        <Question
          question={stop.payload}
          draft={draftOf(session, child ?? "")}
          isSending={isSending}
          isFirst={isFirst}
          send={(input, words) => send({ input, ...to }, words)}
        />
      );
    case "APPROVAL": {
      const { id } = stop.payload;
      return (
        <parts.Approval
          question={stop.payload}
          isSent={isSending}
          hasKeys={isFirst}
          notes={notes}
          decide={(decision, because) => decide(id, decision, because)}
        />
      );
    }
    case "CALL_TOOL":
      return <parts.OpenCall call={stop.payload} isSending={isSending} send={send} />;
    case "PREDICATE":
      return (
        <div class="ask-column">
          <p>
            Does <code>{stop.payload.name}</code> hold?
          </p>
          <ConfirmQuestion
            isSending={isSending}
            isFirst={isFirst}
            send={(value) => send({ predicate: { id: stop.payload.id, value: value === true } }, `${stop.payload.name}: ${brief(value)}`)}
          />
        </div>
      );
    case "NEEDS":
      return <NeededKeys keys={stop.payload.keys} node={stop.payload.node} isSending={isSending} send={send} />;
    case "CHANGED":
      return <ChangedCall pending={stop.payload.pending} now={stop.payload.now} isSending={isSending} send={send} />;
    case "RUNNING":
      return <Running stop={stop} isHalted={isHalted} skew={skew} progress={progress} halt={halt} />;
    case "SLEEPING":
      return (
        <p class="row">
          <span class="standing tone-running">
            <Icon name="clock" /> sleeps
          </span>
          <Countdown due={stop.payload.until} skew={skew} />
        </p>
      );
    case "END":
      return <Ended end={stop.payload} />;
  }
}
