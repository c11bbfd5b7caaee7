/** The context after a record, and what that record changed. */

import type { JSX } from "preact";

import type { Change, StateAt } from "../../api/types";
import type { Resource } from "../../state/resource";
import { Args } from "../../ui/args";
import { Icon } from "../../ui/icons";
import { Loaded } from "../../ui/states";
import { Value } from "../../ui/value";

function ChangeRow({ change }: { change: Change }): JSX.Element {
  const [sign, word] = change.before === undefined ? ["+", "added"] : change.after === undefined ? ["−", "taken"] : ["~", "changed"];
  return (
    <li class={`change change-${word}`}>
      <span class="change-path">
        <span class="change-sign" aria-label={word}>
          {sign}
        </span>
        <code>{change.path}</code>
      </span>
      <span class="change-values">
        {change.before !== undefined && (
          <del>
            <Value value={change.before} open={0} />
          </del>
        )}
        {change.before !== undefined && change.after !== undefined && <Icon name="goto" />}
        {change.after !== undefined && (
          <ins>
            <Value value={change.after} open={0} />
          </ins>
        )}
      </span>
    </li>
  );
}

function Body({ state, edit }: { state: StateAt; edit: (() => void) | null }): JSX.Element {
  const context = state.state.context ?? {};
  const keys = Object.keys(context);
  return (
    <>
      <section>
        <h2 class="minor">
          Record {state.seq} changed <span class="dim">{state.changed.length}</span>
        </h2>
        {state.changed.length === 0 ? (
          <p class="dim">Nothing in the context.</p>
        ) : (
          <ul class="changes">
            {state.changed.map((change) => (
              <ChangeRow change={change} key={change.path} />
            ))}
          </ul>
        )}
      </section>
      {state.call && (
        <section>
          <h2 class="minor">Call that was pending</h2>
          <p>
            <code>{state.call.name}</code> <span class="dim">attempt {state.call.attempt}</span>
          </p>
          <Args args={state.call.args} secrets={state.call.secrets} />
        </section>
      )}
      <section>
        <h2 class="minor">
          Context <span class="dim">{keys.length}</span>
          {edit && (
            <button type="button" class="button quiet small" onClick={edit}>
              <Icon name="edit" /> Set
            </button>
          )}
        </h2>
        {state.child !== undefined && <p class="said-node">{state.child}</p>}
        {keys.length === 0 ? <p class="dim">Empty.</p> : <Value value={context} open={1} />}
      </section>
      {!state.is_same_graph && <p class="dim">The graph was edited since: what nodes say is told as it is now.</p>}
    </>
  );
}

/** The context of a session after a record; `edit` is there where it can be set. */
export function ContextAt({ state, edit }: { state: Resource<StateAt>; edit: (() => void) | null }): JSX.Element {
  return <Loaded of={state}>{(known) => <Body state={known} edit={edit} />}</Loaded>;
}
