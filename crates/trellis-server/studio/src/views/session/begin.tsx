/** Begins a session, with a name and a context if somebody wants to. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { isMapping, type Problem, problemOf } from "../../api/client";
import { startSession } from "../../api/routes";
import type { Json, JsonObject } from "../../api/types";
import { graphs } from "../../state/graphs";
import { open } from "../../state/route";
import { Dialog } from "../../ui/dialog";
import { Failed } from "../../ui/states";
import { JsonField, readJson } from "./questions/json";

/** A context with the inputs that a graph must have. */
function neededContext(inputs: JsonObject | null): string {
  const required = Array.isArray(inputs?.required) ? inputs.required.filter((key) => typeof key === "string") : [];
  if (required.length === 0) return "";
  return JSON.stringify(Object.fromEntries(required.map((key): [string, Json] => [key, ""])), null, 2);
}

export function Begin({ graph, at, close }: { graph: string; at?: string | undefined; close: () => void }): JSX.Element {
  const inputs = graphs.value?.find(({ name }) => name === graph)?.inputs ?? null;
  const [id, setId] = useState("");
  const [context, setContext] = useState(() => neededContext(inputs));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isSent, setSent] = useState(false);
  const read = context.trim() === "" ? { value: {}, errors: [] } : readJson(context, at === undefined ? (inputs ?? undefined) : undefined);
  const submit = (): void => {
    if (!isMapping(read.value)) return;
    setSent(true);
    setProblem(null);
    const body = { graph, context: read.value, ...(id === "" ? {} : { id }), ...(at === undefined ? {} : { at }) };
    startSession(body).then(
      (turn) => {
        close();
        open({ view: "session", session: turn.session });
      },
      (error: unknown) => {
        setProblem(problemOf(error));
        setSent(false);
      },
    );
  };
  return (
    <Dialog title="New session" close={close}>
      <form
        class="ask-column"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <h2>New session of {graph}</h2>
        {at !== undefined && (
          <p>
            It begins at <code>{at}</code>; what stands before it is passed by.
          </p>
        )}
        <label class="field">
          <span>Name</span>
          <input value={id} placeholder="a random one" onInput={(event) => setId(event.currentTarget.value)} autofocus />
        </label>
        <div class="field">
          <span>Context</span>
          <JsonField text={context} change={setContext} schema={inputs ?? undefined} label="Context, as JSON" send={submit} />
        </div>
        {problem && <Failed problem={problem} />}
        {problem && problem.errors.length > 0 && (
          <ul class="field-errors">
            {problem.errors.map((error) => (
              <li key={error.pointer}>
                <code>{error.pointer}</code> {error.message}
              </li>
            ))}
          </ul>
        )}
        <p class="row end">
          <button type="button" class="button quiet" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={isSent || !isMapping(read.value)}>
            Begin
          </button>
        </p>
      </form>
    </Dialog>
  );
}
