/** Sessions, those that moved last first. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { listSessions } from "../../api/routes";
import type { Head } from "../../api/types";
import { beginning } from "../../shell/overlays";
import { approvals, currentGraph, graphs } from "../../state/graphs";
import { useResource } from "../../state/resource";
import { href } from "../../state/route";
import { Standing } from "../../ui/standing";
import { Empty, Loaded } from "../../ui/states";
import { Ago } from "../../ui/time";

const STANDINGS = [
  ["", "all"],
  ["open", "open"],
  ["waiting_for_input", "asks"],
  ["waiting_for_tool", "calls"],
  ["finished", "finished"],
  ["failed", "failed"],
  ["denied", "denied"],
  ["rolled_back", "rolled back"],
] as const;

function Row({ head, hasGraph }: { head: Head; hasGraph: boolean }): JSX.Element {
  // The head says that a call is pending, not that somebody must approve it first.
  const isHeld = (approvals.value ?? []).some(({ session, graph }) => session === head.session && graph === head.graph);
  return (
    <tr>
      <th scope="row">
        <a href={href({ view: "session", session: head.session })}>{head.session}</a>
      </th>
      <td>
        <Standing of={head.standing} isHeld={isHeld} />
      </td>
      {hasGraph && <td>{head.graph}</td>}
      <td>
        <code>{head.node}</code>
      </td>
      <td class="number">{head.seq}</td>
      <td>
        <Ago at={head.at} />
      </td>
      <td>{!head.fits && <span class="dim">edited since</span>}</td>
    </tr>
  );
}

export function SessionsView(): JSX.Element {
  const standing = useSignal("");
  const name = useSignal("");
  const graph = useSignal("");
  const [more, setMore] = useState<{ items: Head[]; next: string | null } | null>(null);
  const query = { standing: standing.value || undefined, id: name.value || undefined, graph: graph.value || undefined };
  const key = JSON.stringify(query);
  const page = useResource(key, () => listSessions({ ...query, limit: 50 }), ({ event }) => event === "session" || event === "removed");
  useEffect(() => setMore(null), [key]);
  const all = graphs.value ?? [];
  const hasGraph = all.length > 1;
  const begin = (): void => {
    const chosen = graph.value || currentGraph.value?.name || all[0]?.name;
    if (chosen) beginning.value = { graph: chosen };
  };
  const loadMore = async (after: string): Promise<void> => {
    const next = await listSessions({ ...query, limit: 50, after });
    setMore((before) => ({ items: [...(before?.items ?? []), ...next.items], next: next.next }));
  };
  return (
    <main class="page">
      <div class="page-head">
        <h1>Sessions</h1>
        <button type="button" class="button primary" onClick={begin}>
          New session
        </button>
      </div>
      <div class="filters">
        <label class="field inline">
          <span>Name begins with</span>
          <input type="search" value={name} onInput={(event) => (name.value = event.currentTarget.value)} />
        </label>
        <label class="field inline">
          <span>Standing</span>
          <select value={standing} onChange={(event) => (standing.value = event.currentTarget.value)}>
            {STANDINGS.map(([value, word]) => (
              <option value={value} key={value}>
                {word}
              </option>
            ))}
          </select>
        </label>
        {hasGraph && (
          <label class="field inline">
            <span>Graph</span>
            <select value={graph} onChange={(event) => (graph.value = event.currentTarget.value)}>
              <option value="">all</option>
              {all.map((item) => (
                <option key={item.name}>{item.name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Loaded of={page}>
        {({ items, next }) => {
          const shown = [...items, ...(more?.items ?? [])];
          const after = more ? more.next : next;
          if (shown.length === 0) {
            return (
              <Empty title="No session is here">
                <p>A session is one walk of a graph. Sessions that were begun at a terminal show here, too.</p>
              </Empty>
            );
          }
          return (
            <>
              <div class="table-scroll" tabIndex={0} role="region" aria-label="List of sessions">
                <table class="table">
                  <thead>
                    <tr>
                      <th scope="col">Session</th>
                      <th scope="col">Standing</th>
                      {hasGraph && <th scope="col">Graph</th>}
                      <th scope="col">Node</th>
                      <th scope="col" class="number">
                        Records
                      </th>
                      <th scope="col">Moved</th>
                      <th scope="col">
                        <span class="unseen">Graph edited</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {shown.map((head) => (
                      <Row key={`${head.graph} ${head.session}`} head={head} hasGraph={hasGraph} />
                    ))}
                  </tbody>
                </table>
              </div>
              {after !== null && (
                <button type="button" class="button" onClick={() => void loadMore(after)}>
                  Older ones
                </button>
              )}
            </>
          );
        }}
      </Loaded>
    </main>
  );
}
