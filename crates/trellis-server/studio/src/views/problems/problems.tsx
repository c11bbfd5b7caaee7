/** The findings of a graph, by file; the one that is chosen lights its path in the drawing. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";

import { getReport } from "../../api/routes";
import type { Diagnostic, Graph } from "../../api/types";
import { Drawing } from "../../draw/drawing";
import { NO_MARKS } from "../../draw/marks";
import { useResource } from "../../state/resource";
import { open } from "../../state/route";
import { Icon } from "../../ui/icons";
import { Empty, Loaded } from "../../ui/states";
import { useGraph } from "../graph/use-graph";
import { Finding } from "./finding";

/** The node in which a line of a file stands. */
function nodeAt(graph: Graph, path: string | null, line: number | null): string | null {
  const nodes = graph.nodes.filter((node) => node.path === path && node.line !== null && node.line <= (line ?? 1));
  return nodes.sort((one, other) => (other.line ?? 0) - (one.line ?? 0))[0]?.id ?? null;
}

/** The nodes of the path that a finding shows. */
function pathOf(graph: Graph, found: Diagnostic): string[] {
  const places = [...found.labels.map((label) => ({ path: label.path, line: label.line })), { path: found.path, line: found.line }];
  return places.map(({ path, line }) => nodeAt(graph, path, line)).filter((node) => node !== null);
}

const keyOf = (found: Diagnostic): string => `${found.code} ${found.path} ${found.line} ${found.message}`;

export function ProblemsView({ name }: { name: string }): JSX.Element {
  const report = useResource(name, () => getReport(name), ({ event, data }) => event === "diagnostics" && data.graph === name);
  const graph = useGraph(name);
  const [chosen, setChosen] = useState<string | null>(null);
  const findings = report.data?.diagnostics ?? [];
  const found = findings.find((finding) => keyOf(finding) === chosen) ?? findings[0] ?? null;
  const lit = useMemo(() => (graph.data && found ? pathOf(graph.data, found) : []), [graph.data, found]);
  const marks = useMemo(() => ({ ...NO_MARKS, lit: new Set(lit), changed: graph.changed }), [lit, graph.changed]);
  return (
    <main class="problems-view">
      <div class="problems-list">
        <h1>Problems of {name}</h1>
        <Loaded of={report}>
          {({ diagnostics, sources, summary }) => (
            <>
              {diagnostics.length === 0 && (
                <Empty title="Nothing is wrong">
                  <p class="standing tone-finished">
                    <Icon name="finished" />
                    {summary.nodes} nodes are proved. Findings show here as files are saved.
                  </p>
                </Empty>
              )}
              {[...Map.groupBy(diagnostics, (finding) => finding.path)].map(([path, ofFile]) => (
                <section key={path} class="finding-group">
                  <h2>
                    {path ?? "the whole graph"} <span class="dim">{ofFile.length}</span>
                  </h2>
                  <ul>
                    {ofFile.map((finding) => (
                      <Finding
                        key={keyOf(finding)}
                        found={finding}
                        sources={sources}
                        isChosen={finding === found}
                        choose={() => setChosen(keyOf(finding))}
                      />
                    ))}
                  </ul>
                </section>
              ))}
            </>
          )}
        </Loaded>
      </div>
      {graph.data && (
        <Drawing
          graph={graph.data}
          marks={marks}
          selected={null}
          select={(node) => open({ view: "graph", graph: name, node })}
          toggle={graph.toggle}
          isStale={report.data?.status === "broken"}
        />
      )}
    </main>
  );
}
