/** Ways through time: each asks once, says what becomes of pending calls and effects, and names the record that it made. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { type Problem, problemOf } from "../../api/client";
import { back, fork, goto, setContext } from "../../api/routes";
import type { Json, Turn } from "../../api/types";
import { announce } from "../../shell/overlays";
import { open } from "../../state/route";
import { Dialog } from "../../ui/dialog";
import { isBroken, MeantAsText, readJson } from "../session/questions/json";
import { Failed } from "../../ui/states";

export type Journey = { kind: "back"; to: number } | { kind: "fork"; at: number } | { kind: "goto"; node: string } | { kind: "set"; path: string };

interface Props {
  session: string;
  /** The number that the session must still have. */
  seq: number;
  journey: Journey;
  nodes: string[];
  close: () => void;
  /** Takes the turn that it led to, and what to say of it; `undo` is the record to go back to. */
  done: (turn: Turn, words: string, undo: number) => void;
}

const LEFT = "A call that runs is stopped, and one that is pending is left: if its result still comes, it is noted and moves nothing. Effects that happened stay; nothing is undone.";

const TITLES = { back: "Go back", fork: "Fork", goto: "Go to a node", set: "Set the context" } as const;

function Sentence({ journey }: { journey: Journey }): JSX.Element {
  switch (journey.kind) {
    case "back":
      return (
        <p>
          The session stands where it stood after record {journey.to}, with the context of then. {LEFT}
        </p>
      );
    case "fork":
      return <p>A new session begins where this one stood after record {journey.at}. This one stays as it is; effects that happened are not repeated.</p>;
    case "goto":
      return <p>The session enters the node with the context that it has now. {LEFT}</p>;
    case "set":
      return <p>The session stays at its node, with this value in its context. {LEFT}</p>;
  }
}

export function Travel({ session, seq, journey, nodes, close, done }: Props): JSX.Element {
  const [node, setNode] = useState(journey.kind === "goto" ? journey.node : "");
  const [path, setPath] = useState(journey.kind === "set" ? journey.path : "");
  const [value, setValue] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isSent, setSent] = useState(false);
  /** Whether somebody gave JSON that is none. */
  const [isDoubted, setDoubted] = useState(false);

  const travel = async (): Promise<void> => {
    switch (journey.kind) {
      case "fork": {
        const turn = await fork(session, journey.at);
        announce(`Forked as ${turn.session}`);
        return open({ view: "session", session: turn.session });
      }
      case "back":
        return done(await back(session, journey.to, seq), `Went back to record ${journey.to}`, seq - 1);
      case "goto":
        return done(await goto(session, node, seq), `Went to ${node}`, seq - 1);
      case "set": {
        const read: Json = readJson(value, undefined).value ?? value;
        return done(await setContext(session, { [path]: read }, seq), `Set ${path}`, seq - 1);
      }
    }
  };
  const leave = (): void => {
    setSent(true);
    setProblem(null);
    travel().then(close, (error: unknown) => {
      setProblem(problemOf(error));
      setSent(false);
    });
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    setDoubted(isBroken(value));
    if (!isBroken(value)) leave();
  };
  return (
    <Dialog title={TITLES[journey.kind]} close={close}>
      <form class="ask-column" onSubmit={submit}>
        <h2>{TITLES[journey.kind]}</h2>
        <Sentence journey={journey} />
        {journey.kind === "goto" && (
          <label class="field">
            <span>Node</span>
            <input list="travel-nodes" value={node} onInput={(event) => setNode(event.currentTarget.value)} autofocus />
            <datalist id="travel-nodes">
              {nodes.map((id) => (
                <option value={id} key={id} />
              ))}
            </datalist>
          </label>
        )}
        {journey.kind === "set" && (
          <>
            <label class="field">
              <span>Path, with dots</span>
              <input class="mono" value={path} onInput={(event) => setPath(event.currentTarget.value)} autofocus />
            </label>
            <label class="field">
              <span>Value, as JSON or as a text</span>
              <input class="mono" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
            </label>
            {isDoubted && isBroken(value) && <MeantAsText verb="Set it" send={leave} />}
          </>
        )}
        {problem && <Failed problem={problem} />}
        <p class="row end">
          <button type="button" class="button quiet" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={isSent || (journey.kind === "goto" && node === "") || (journey.kind === "set" && path === "")}>
            {TITLES[journey.kind]}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
