/** All graphs of the server, as cards. */

import type { JSX } from "preact";

import type { GraphCard } from "../api/types";
import { graphs, graphsProblem, refreshGraphs } from "../state/graphs";
import { href } from "../state/route";
import { beginning } from "../shell/overlays";
import { Icon } from "../ui/icons";
import { Empty, Failed, Loading } from "../ui/states";
import { timeOfDay } from "../ui/time";

function Card({ graph }: { graph: GraphCard }): JSX.Element {
  const isSound = graph.status === "sound";
  return (
    <li class="card graph-card">
      <h2>
        <a href={href({ view: "graph", graph: graph.name })}>{graph.name}</a>
      </h2>
      <p class={`standing tone-${isSound ? "finished" : "failed"}`}>
        <Icon name={isSound ? "finished" : "failed"} />
        {isSound ? "sound" : `broken since ${timeOfDay(graph.since)}`}
      </p>
      <dl class="figures">
        <div>
          <dt>nodes</dt>
          <dd>{graph.nodes}</dd>
        </div>
        <div>
          <dt>open sessions</dt>
          <dd>{graph.sessions.open}</dd>
        </div>
        <div class={graph.sessions.held > 0 ? "tone-held" : ""}>
          <dt>held approvals</dt>
          <dd>{graph.sessions.held}</dd>
        </div>
        <div class={graph.errors > 0 ? "tone-failed" : ""}>
          <dt>findings</dt>
          <dd>{graph.errors + graph.warnings}</dd>
        </div>
      </dl>
      <p class="row">
        <button type="button" class="button" disabled={graph.program === null} onClick={() => (beginning.value = { graph: graph.name })}>
          New session
        </button>
        <a class="button quiet" href={href({ view: "problems", graph: graph.name })}>
          Problems
        </a>
      </p>
    </li>
  );
}

export function GraphsView(): JSX.Element {
  const all = graphs.value;
  return (
    <main class="page">
      <h1>Graphs</h1>
      {all === null && (graphsProblem.value ? <Failed problem={graphsProblem.value} again={() => void refreshGraphs()} /> : <Loading />)}
      {all?.length === 0 && (
        <Empty title="No graph is served">
          <p>
            <code>trellis new hello</code> makes one, <code>trellis serve hello</code> serves it.
          </p>
        </Empty>
      )}
      <ul class="cards">{all?.map((graph) => <Card graph={graph} key={graph.name} />)}</ul>
    </main>
  );
}
