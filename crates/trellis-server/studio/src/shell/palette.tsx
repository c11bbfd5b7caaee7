/** The palette: nodes, sessions, findings and commands by a few letters. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { getGraph, getReport, listSessions, reload, searchGraph } from "../api/routes";
import type { Diagnostic, GraphCard, Head, Match } from "../api/types";
import { currentGraph, graphs, hasChat, hasState } from "../state/graphs";
import { open, route } from "../state/route";
import { nextTheme } from "../state/theme";
import { Dialog } from "../ui/dialog";
import { Icon, type IconName } from "../ui/icons";
import { fit } from "./fuzzy";
import { openWaiting } from "./keys";
import { announce, beginning, isKeysShown, isPaletteShown } from "./overlays";

interface Entry {
  icon: IconName;
  name: string;
  kind: string;
  detail: string;
  run: () => void;
}

const MOST = 12;

const command = (name: string, detail: string, run: () => void): Entry => ({ icon: "goto", name, kind: "command", detail, run });

/** Presses a key in what is shown, once the search is closed. */
function press(key: string, part: string): void {
  const down = (): unknown => document.querySelector(part)?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  requestAnimationFrame(down);
}

/** What the keys of the drawing and of the timeline do, where there is one. */
function keysHere(): Entry[] {
  const { view } = route.value;
  const of = (part: string, keys: [string, string, string][]): Entry[] => keys.map(([name, detail, key]) => command(name, detail, () => press(key, part)));
  const inTime = of(".session-view", [
    ["A record back", "[", "["],
    ["A record on", "]", "]"],
    ["The first record", "Home", "Home"],
    ["Now", "End", "End"],
  ]);
  const inDrawing = of(".drawing", [
    ["Fit the drawing", "f", "f"],
    ["Zoom in", "+", "+"],
    ["Zoom out", "−", "-"],
    ["Natural size", "0", "0"],
    ["Fold the module of the node", "c", "c"],
    ["Pan left", "←", "ArrowLeft"],
    ["Pan right", "→", "ArrowRight"],
    ["Pan up", "↑", "ArrowUp"],
    ["Pan down", "↓", "ArrowDown"],
  ]);
  if (view !== "graph" && view !== "session") return [];
  return [...(view === "session" ? inTime : []), ...inDrawing];
}

function commands(graph: GraphCard | null): Entry[] {
  const ofGraph = graph
    ? [
        command(`New session of ${graph.name}`, "n", () => (beginning.value = { graph: graph.name })),
        command(`Graph ${graph.name}`, "g g", () => open({ view: "graph", graph: graph.name })),
        command(`Problems of ${graph.name}`, "g p", () => open({ view: "problems", graph: graph.name })),
        command(`Read the files of ${graph.name} again`, "", () => void reload(graph.name).then(() => announce("Read again"))),
      ]
    : [];
  const ofOthers = (graphs.value ?? [])
    .filter((other) => other.name !== graph?.name)
    .map((other) => command(`Graph ${other.name}`, "", () => open({ view: "graph", graph: other.name })));
  return [
    ...ofGraph,
    command("Sessions", "g s", () => open({ view: "sessions" })),
    command("Approvals", "g a", () => open({ view: "approvals" })),
    command("Dead letters", "g d", () => open({ view: "dead" })),
    ...(hasChat.value ? [command("Chat", "g c", () => open({ view: "chat" }))] : []),
    ...(hasState.value ? [command("Dashboard", "g o", () => open({ view: "dashboard" }))] : []),
    command("What waits for me", ".", openWaiting),
    command("All graphs", "", () => open({ view: "graphs" })),
    ...ofOthers,
    command("Light, dark, or as the system says", "", nextTheme),
    command("All keys", "?", () => (isKeysShown.value = true)),
    ...keysHere(),
  ];
}

interface Known {
  nodes: string[];
  heads: Head[];
  findings: Diagnostic[];
}

function entriesOf(card: GraphCard | null, { nodes, heads, findings }: Known, matches: Match[], words: string): Entry[] {
  const graph = card?.name ?? "";
  const all: Entry[] = [
    ...commands(card),
    ...nodes.map((node): Entry => ({ icon: "pass", name: node, kind: "node", detail: "", run: () => open({ view: "graph", graph, node }) })),
    ...heads.map((head): Entry => ({ icon: "listen", name: head.session, kind: "session", detail: head.node, run: () => open({ view: "session", session: head.session }) })),
    ...findings.map((found): Entry => ({ icon: "warning", name: found.message, kind: "finding", detail: found.path ?? "", run: () => open({ view: "problems", graph }) })),
  ];
  const ranked = all
    .map((entry) => ({ entry, rank: fit(words, entry.name) }))
    .filter((ranked): ranked is { entry: Entry; rank: number } => ranked.rank !== null)
    .sort((one, other) => one.rank - other.rank)
    .map(({ entry }) => entry);
  const named = new Set(ranked.map((entry) => entry.name));
  // What stands in a node comes behind what is called so.
  const inside = matches
    .filter((match) => !named.has(match.id))
    .map((match): Entry => ({ icon: "search", name: match.id, kind: "text", detail: match.excerpt.trim(), run: () => open({ view: "graph", graph, node: match.id }) }));
  return [...ranked.slice(0, MOST), ...inside.slice(0, MOST / 2)];
}

export function Palette(): JSX.Element {
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState(0);
  const [known, setKnown] = useState<Known>({ nodes: [], heads: [], findings: [] });
  const [matches, setMatches] = useState<Match[]>([]);
  /** What is shown beside. */
  const [beside, setBeside] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  // What is shown beside may be of another graph; the search stays in that where it began.
  const card = useRef<GraphCard | null>(null);
  card.current ??= currentGraph.value;
  const graph = card.current?.name;

  useEffect(() => {
    // What cannot be asked is not found; the rest is.
    const learn = (part: Partial<Known>): void => setKnown((before) => ({ ...before, ...part }));
    void listSessions({ limit: 200 }).then(({ items }) => learn({ heads: items }), () => undefined);
    if (graph === undefined) return;
    void getGraph(graph, undefined).then(({ modules }) => learn({ nodes: modules.flatMap((module) => module.nodes) }), () => undefined);
    void getReport(graph).then(({ diagnostics }) => learn({ findings: diagnostics }), () => undefined);
  }, [graph]);
  useEffect(() => {
    setChosen(0);
    if (graph === undefined || words.trim().length < 2) return setMatches([]);
    let isOld = false;
    const timer = setTimeout(() => void searchGraph(graph, words).then(({ items }) => isOld || setMatches(items), () => undefined), 120);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [words, graph]);

  const entries = useMemo(() => entriesOf(card.current, known, matches, words.trim()), [known, matches, words]);
  const close = (): void => {
    isPaletteShown.value = false;
  };
  const run = (entry: Entry | undefined): void => {
    if (!entry) return;
    close();
    entry.run();
  };
  const typed = (event: KeyboardEvent): void => {
    const entry = entries[chosen];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const next = (chosen + step + entries.length) % Math.max(1, entries.length);
      setChosen(next);
      list.current?.children[next]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") run(entry);
    else if (event.key === "Tab" && !event.shiftKey && entry && entry.kind !== "command") {
      entry.run();
      setBeside(entry.name);
    } else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search" class={`palette ${beside === null ? "" : "is-beside"}`} close={close}>
      <input
        class="palette-field"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen}`}
        aria-label="Nodes, sessions, findings, commands"
        placeholder="Nodes, sessions, findings, commands"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={typed}
        autofocus
      />
      <ul id="palette-list" role="listbox" aria-label="Found" class="palette-list" ref={list}>
        {entries.map((entry, at) => (
          <li
            key={`${entry.kind} ${entry.name} ${entry.detail}`}
            id={`palette-${at}`}
            role="option"
            aria-selected={at === chosen}
            class="palette-entry"
            onClick={() => run(entry)}
            onPointerMove={() => setChosen(at)}
          >
            <Icon name={entry.icon} />
            <span class="palette-name">{entry.name}</span>
            <span class="dim palette-detail">{entry.detail}</span>
            <span class="dim palette-kind">{entry.kind}</span>
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p class="dim palette-none">Nothing is called so.</p>}
      <p class="dim palette-keys">
        <span>
          <kbd>Enter</kbd> opens
        </span>
        <span>
          <kbd>Tab</kbd> shows beside
        </span>
        <span>
          <kbd>Esc</kbd> closes
        </span>
      </p>
      <p class="unseen" role="status">
        {beside !== null && `${beside} is shown beside`}
      </p>
    </Dialog>
  );
}
