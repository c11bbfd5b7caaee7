/** One node: what it says, its source, its edges, the keys that can be set there, the sessions that stand there. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { getNode, listSessions } from "../../api/routes";
import type { Graph, GraphEdge, NodeDetail } from "../../api/types";
import { doing, isEnd, nameOf } from "../../draw/nodes";
import { beginning } from "../../shell/overlays";
import { useResource } from "../../state/resource";
import { Html } from "../../ui/html";
import { Icon } from "../../ui/icons";
import { Loaded } from "../../ui/states";
import { Ticked } from "../../ui/ticked";
import { Source } from "../../ui/source";
import { SessionLinks } from "../session-links";
import { wordsOf } from "./outline";

interface Props {
  graph: Graph;
  node: string;
  select: (node: string) => void;
  close: () => void;
}

function Edges({ title, edges, end, select }: { title: string; edges: GraphEdge[]; end: "from" | "to"; select: (node: string) => void }): JSX.Element {
  return (
    <section>
      <h3>
        {title} <span class="dim">{edges.length}</span>
      </h3>
      {edges.length === 0 ? (
        <p class="dim">None.</p>
      ) : (
        <ul class="edges">
          {edges.map((edge, at) => (
            <li key={at}>
              <span class="edge-label">{wordsOf(edge)}</span>
              {isEnd(edge[end]) ? (
                <span>ends {nameOf(edge[end])}</span>
              ) : (
                <button type="button" class="link" onClick={() => select(edge[end])}>
                  {edge[end]}
                </button>
              )}
              {edge.line !== null && <span class="dim edge-line">line {edge.line}</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Keys({ keys }: Pick<NodeDetail, "keys">): JSX.Element {
  return (
    <section>
      <h3>
        Keys that can be set here <span class="dim">{keys.length}</span>
      </h3>
      {keys.length === 0 && <p class="dim">The context is empty here.</p>}
      <ul class="keys">
        {keys.map(({ key, certain, kind }) => (
          <li key={key}>
            <code>{key}</code>
            <span class="dim">
              <Ticked text={kind} />
            </span>
            <span class="dim">{certain ? "always" : "on some paths"}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Body({ node, graph, select }: { node: NodeDetail; graph: Graph; select: (node: string) => void }): JSX.Element {
  const [isSource, setSource] = useState(false);
  const edgesIn = graph.edges.filter((edge) => edge.to === node.id && edge.from !== node.id);
  return (
    <div class="sheet-scroll">
      <section>
        <div class="segments" role="group" aria-label="Show the node as">
          <button type="button" aria-pressed={!isSource} onClick={() => setSource(false)}>
            Says
          </button>
          <button type="button" aria-pressed={isSource} onClick={() => setSource(true)}>
            Source
          </button>
        </div>
        {isSource ? (
          <Source text={node.source} marked={new Set([node.line])} />
        ) : node.html === "" ? (
          <p class="dim">It says nothing.</p>
        ) : (
          <Html class="said" html={node.html} />
        )}
      </section>
      <Edges title="Edges out" edges={node.ways} end="to" select={select} />
      <Edges title="Edges in" edges={edgesIn} end="from" select={select} />
      <Keys keys={node.keys} />
      <SessionLinks
        id={`${graph.name} ${node.id}`}
        title="Sessions that stand here"
        load={() => listSessions({ graph: graph.name, node: node.id, standing: "open", limit: 20 })}
      />
    </div>
  );
}

export function Sheet({ graph, node, select, close }: Props): JSX.Element {
  const drawn = graph.nodes.find(({ id }) => id === node);
  const detail = useResource(`${graph.name} ${node}`, () => getNode(graph.name, node), ({ event }) => event === "graph");
  return (
    <aside class="sheet" aria-label={`Node ${node}`}>
      <header class="sheet-head">
        <div class="sheet-title">
          <h2>{node}</h2>
          <p class="dim">
            {drawn && (
              <span class="standing">
                <Icon name={drawn.entry ? "start" : doing(drawn).icon} />
                {doing(drawn).word}
              </span>
            )}
            {detail.data && (
              <code>
                {detail.data.path}:{detail.data.line}
              </code>
            )}
          </p>
        </div>
        <button type="button" class="button" onClick={() => (beginning.value = { graph: graph.name, at: node })}>
          Walk from here
        </button>
        <button type="button" class="button icon-only quiet" aria-label="Close the node" title="Close (Esc)" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <Loaded of={detail}>{(found) => <Body node={found} graph={graph} select={select} />}</Loaded>
    </aside>
  );
}
