/** A session: where it went and stands, Here, and its time. With a record in the address, all of it is as it was then. */

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import { back, getPath } from "../../api/routes";
import type { Turn } from "../../api/types";
import { Drawing } from "../../draw/drawing";
import { marksOfPath } from "../../draw/marks";
import { announce } from "../../shell/overlays";
import { useResource } from "../../state/resource";
import { href, open, replace } from "../../state/route";
import { useKeys } from "../../ui/keys";
import { Failed, Loading } from "../../ui/states";
import { useGraph } from "../graph/use-graph";
import { ContextAt } from "../time/context";
import { Timeline } from "../time/timeline";
import { type Journey, Travel } from "../time/travel";
import { useRecords } from "../time/use-records";
import { useStateAt } from "../time/use-state-at";
import { Decision } from "./approval";
import { OpenCall } from "./call";
import { Here } from "./here";
import { SessionHead } from "./head";
import { NoRecord, Past } from "./past";
import { SecretQuestion } from "./questions/secret";
import type { Parts } from "./stop";
import { Then } from "./then";
import { useSession, type WalkedSession } from "./use-session";

/** In the studio, people decide, type secrets and carry calls out. */
const PARTS: Parts = { Approval: Decision, Secret: SecretQuestion, OpenCall };

type Pane = "graph" | "walk" | "time";

function Walked({ id, at, walked }: { id: string; at: number | null; walked: WalkedSession & { turn: Turn } }): JSX.Element {
  const { turn } = walked;
  const graph = useGraph(turn.graph);
  const path = useResource(`${id} ${turn.seq}`, () => getPath(id), () => false);
  const records = useRecords(id, turn.seq);
  const [pane, setPane] = useState<Pane>("walk");
  const [journey, setJourney] = useState<Journey | null>(null);
  const [undo, setUndo] = useState<{ words: string; to: number; seq: number } | null>(null);
  const [hops, setHops] = useState(path.data?.hops ?? []);
  useEffect(() => {
    if (path.data) setHops(path.data.hops);
  }, [path.data]);
  const stood = at === null ? turn.node : (records.at(at)?.to ?? turn.node);
  const marks = useMemo(() => ({ ...marksOfPath(hops, stood, at ?? undefined), changed: graph.changed }), [hops, stood, at, graph.changed]);
  const last = turn.seq - 1;
  const isMissing = at !== null && (at > last || at < records.first);
  const state = useStateAt(id, isMissing ? null : at, last, records);

  const look = (seq: number): void => {
    const kept = Math.max(records.first, seq);
    replace(kept >= last ? { view: "session", session: id } : { view: "session", session: id, at: kept });
  };
  useKeys((key) => {
    const now = at ?? last;
    const to = { "[": now - 1, "]": now + 1, Home: records.first, End: last }[key];
    if (to === undefined) return false;
    look(to);
    return true;
  });
  const done = (next: Turn, words: string, to: number): void => {
    setUndo({ words: `${words}: record ${next.seq - 1}.`, to, seq: next.seq });
    announce(words);
    replace({ view: "session", session: id });
    walked.take(next);
  };
  const goBack = async (step: NonNullable<typeof undo>): Promise<void> => {
    walked.take(await back(id, step.to, step.seq));
    setUndo(null);
  };
  useEffect(() => {
    if (undo !== null && turn.seq > undo.seq) setUndo(null);
  }, [turn.seq]);

  if (isMissing) return <NoRecord session={id} at={at} first={records.first} last={last} />;
  return (
    <main class={`session-view pane-${pane}`}>
      <SessionHead turn={turn} travel={setJourney} />
      <div class="panes" role="group" aria-label="Parts of the session">
        {(["walk", "graph", "time"] as const).map((name) => (
          <button type="button" key={name} aria-pressed={pane === name} onClick={() => setPane(name)}>
            {{ graph: "Graph", walk: "Walk", time: "Time" }[name]}
          </button>
        ))}
      </div>
      {at !== null && <Past at={at} last={last} look={look} leave={() => open({ view: "session", session: id })} travel={setJourney} />}
      {undo && (
        <div class="bar" role="status">
          <span>{undo.words}</span>
          <button type="button" class="button" onClick={() => void goBack(undo)}>
            Undo
          </button>
        </div>
      )}
      {graph.data ? (
        <Drawing
          graph={graph.data}
          marks={marks}
          selected={null}
          select={(node) => open({ view: "graph", graph: turn.graph, node })}
          toggle={graph.toggle}
        />
      ) : (
        <div class="drawing">{graph.problem ? <Failed problem={graph.problem} again={graph.refresh} /> : <Loading />}</div>
      )}
      {at === null ? <Here session={id} walked={walked} parts={PARTS} /> : <Then state={state} />}
      <section class="time" aria-label="Time">
        <Timeline records={records} at={at} open={look} />
        <div class="context" tabIndex={0} role="region" aria-label="Context">
          <ContextAt state={state} edit={at === null ? () => setJourney({ kind: "set", path: "" }) : null} />
        </div>
      </section>
      {journey && (
        <Travel
          session={id}
          seq={turn.seq}
          journey={journey}
          nodes={graph.data?.modules.flatMap((module) => module.nodes) ?? []}
          close={() => setJourney(null)}
          done={done}
        />
      )}
    </main>
  );
}

/** A session; `isAlone` shows its question and nothing else, for links from elsewhere. */
export function SessionView({ id, at, isAlone }: { id: string; at: number | null; isAlone: boolean }): JSX.Element {
  const walked = useSession(id);
  const { turn } = walked;
  // A session that is removed while somebody looks at it has nothing left to answer.
  if (turn === null || walked.problem?.status === 404) {
    return (
      <main class="page">
        <h1>{id}</h1>
        {walked.problem ? <Failed problem={walked.problem} again={walked.refresh} /> : <Loading />}
        {walked.problem?.status === 404 && (
          <p>
            <a href={href({ view: "sessions" })}>All sessions</a>
          </p>
        )}
      </main>
    );
  }
  if (isAlone) {
    return (
      <main class="alone">
        <h1>
          <a href={href({ view: "session", session: id })}>{id}</a>
        </h1>
        <Here session={id} walked={{ ...walked, turn }} parts={PARTS} />
      </main>
    );
  }
  return <Walked key={id} id={id} at={at} walked={{ ...walked, turn }} />;
}
