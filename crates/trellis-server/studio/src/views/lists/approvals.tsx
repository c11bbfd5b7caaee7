/** The calls that wait for somebody's decision, of all sessions. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { problemOf, type Problem } from "../../api/client";
import { decide } from "../../api/routes";
import type { HeldCall } from "../../api/types";
import { announce } from "../../shell/overlays";
import { approvals } from "../../state/graphs";
import { href } from "../../state/route";
import { Decision } from "../session/approval";
import { Filter, fits } from "../../ui/filter";
import { Empty, Failed, Loading } from "../../ui/states";
import { Ago, Countdown } from "../../ui/time";

function Held({ held }: { held: HeldCall }): JSX.Element {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isSent, setSent] = useState(false);
  const send = async (decision: "approve" | "deny", because?: string): Promise<void> => {
    setSent(true);
    try {
      await decide(held.session, held.call.id, decision, because);
      approvals.value = (approvals.value ?? []).filter((other) => other.call.id !== held.call.id || other.session !== held.session);
      announce(`${decision === "approve" ? "Approved" : "Denied"}: ${held.call.name} of ${held.session}`);
    } catch (error) {
      setProblem(problemOf(error));
      setSent(false);
    }
  };
  return (
    <li class="card held-card">
      <header class="held-head">
        <a href={href({ view: "session", session: held.session })}>{held.session}</a>
        <span class="dim">
          {held.graph} · <code>{held.call.node}</code> · asked <Ago at={held.asked} />
        </span>
        {held.due !== null && <Countdown due={held.due} skew={0} />}
      </header>
      <Decision
        question={held.ask === null ? held.call : { ...held.call, ask: held.ask }}
        part={held.call.part}
        notes={held.why?.notes ?? []}
        isSent={isSent}
        decide={(decision, because) => void send(decision, because)}
      />
      {problem && <Failed problem={problem} />}
    </li>
  );
}

export function ApprovalsView(): JSX.Element {
  const words = useSignal("");
  const held = approvals.value;
  const shown = held?.filter(({ session, graph, call, ask }) => fits(words.value, [session, graph, call.name, call.node, ask ?? ""]));
  return (
    <main class="page">
      <h1>Approvals</h1>
      {(held?.length ?? 0) > 1 && (
        <div class="filters">
          <Filter words={words} label="Session, tool or question" />
        </div>
      )}
      {held === null && <Loading />}
      {shown?.length === 0 && held?.length !== 0 && <Empty title="No call that waits has these words" />}
      {held?.length === 0 && (
        <Empty title="Nothing waits for a decision">
          <p>A call waits here where its node says <code>approve</code>, or where a policy holds it.</p>
        </Empty>
      )}
      <ul class="held-list">{shown?.map((item) => <Held held={item} key={`${item.session} ${item.call.id}`} />)}</ul>
    </main>
  );
}
