/** A graph: its outline, its drawing, and the node that was chosen. */

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import { Drawing } from "../../draw/drawing";
import { NO_MARKS } from "../../draw/marks";
import { beginning } from "../../shell/overlays";
import { currentGraph } from "../../state/graphs";
import { replace } from "../../state/route";
import { Icon } from "../../ui/icons";
import { Failed, Loading } from "../../ui/states";
import { Outline } from "./outline";
import { Sheet } from "./sheet";
import { useGraph } from "./use-graph";

export function GraphView({ name, node }: { name: string; node: string | null }): JSX.Element {
  const graph = useGraph(name);
  const { data, changed } = graph;
  const marks = useMemo(() => ({ ...NO_MARKS, changed }), [changed]);
  /** Whether the outline is shown where there is little room for it. */
  const [isListShown, setListShown] = useState(false);
  const select = (chosen: string): void => replace({ view: "graph", graph: name, node: chosen });
  const close = (): void => replace({ view: "graph", graph: name });
  useEffect(() => {
    if (node !== null) graph.unfold(node);
  }, [node, data?.program]);
  useEffect(() => {
    const escape = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close();
    };
    addEventListener("keydown", escape);
    return () => removeEventListener("keydown", escape);
  }, [name]);

  if (data === null) {
    return (
      <main class="page">
        <h1>{name}</h1>
        {graph.problem ? <Failed problem={graph.problem} again={graph.refresh} /> : <Loading />}
      </main>
    );
  }
  const isKnown = node !== null && data.modules.some((module) => module.nodes.includes(node));
  return (
    <main class={`graph-view ${isKnown ? "has-sheet" : ""} ${isListShown ? "has-list" : ""}`}>
      <h1 class="unseen">Graph {name}</h1>
      <div class="side">
        <div class="side-head">
          <button
            type="button"
            class="button icon-only quiet side-fold"
            aria-expanded={isListShown}
            aria-label={isListShown ? "Fold the outline" : "Show the outline"}
            onClick={() => setListShown(!isListShown)}
          >
            <Icon name="chevron" />
          </button>
          <h2>Outline</h2>
          <button type="button" class="button primary" onClick={() => (beginning.value = { graph: name })}>
            New session
          </button>
        </div>
        <Outline graph={data} selected={node} select={select} />
      </div>
      <Drawing
        graph={data}
        marks={marks}
        selected={node}
        select={select}
        toggle={graph.toggle}
        isStale={currentGraph.value?.status === "broken"}
      />
      {isKnown && <Sheet graph={data} node={node} select={select} close={close} />}
    </main>
  );
}
