/** The bar over every view: where one is, where one can go, and how the graph stands. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { deadCount } from "../state/dead";
import { approvals, currentGraph, graphs, hasChat, hasState } from "../state/graphs";
import { href, route } from "../state/route";
import { nextTheme, theme } from "../state/theme";
import { Icon } from "../ui/icons";
import { timeOfDay } from "../ui/time";
import { isKeysShown, isPaletteShown } from "./overlays";

function Tab({ to, isCurrent, children }: { to: string; isCurrent: boolean; children: ComponentChildren }): JSX.Element {
  const tab = useRef<HTMLAnchorElement>(null);
  // On a phone the tabs scroll.
  useEffect(() => {
    if (isCurrent) tab.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [isCurrent]);
  return (
    <a class="tab" ref={tab} href={to} {...(isCurrent ? { "aria-current": "page" as const } : {})}>
      {children}
    </a>
  );
}

function Count({ of, tone = "" }: { of: number; tone?: string }): JSX.Element | null {
  return of > 0 ? <span class={`count ${tone}`}>{of}</span> : null;
}

/** How the graph stands, with the way to what is wrong. */
function StatusPill(): JSX.Element | null {
  const graph = currentGraph.value;
  if (graph === null) return null;
  if (graph.status === "broken") {
    return (
      <a class="pill tone-failed" href={href({ view: "problems", graph: graph.name })}>
        <Icon name="failed" />
        <span>
          broken <span class="wide">since {timeOfDay(graph.since)}</span> · {graph.errors} {graph.errors === 1 ? "error" : "errors"}
        </span>
      </a>
    );
  }
  return (
    <span class="pill tone-finished">
      <Icon name="finished" />
      sound
    </span>
  );
}

export function Header(): JSX.Element {
  const shown = route.value;
  const graph = currentGraph.value;
  const findings = graph ? graph.errors + graph.warnings : 0;
  const open = (graphs.value ?? []).reduce((sum, { sessions }) => sum + sessions.open, 0);
  const themeIcon = { system: "system", light: "sun", dark: "moon" } as const;
  const hasSeveral = (graphs.value?.length ?? 0) > 1;
  return (
    <header class="header">
      <a class="brand" href={href({ view: "graphs" })} aria-label="Trellis, all graphs">
        <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
          <path d="M11 4v24M21 4v24M4 11h24M4 21h24" />
        </svg>
        {hasSeveral && <span class="wide">Graphs</span>}
      </a>
      {graph && (
        <a class="crumb" href={href({ view: "graph", graph: graph.name })}>
          {graph.name}
        </a>
      )}
      <StatusPill />
      <nav class="tabs" aria-label="Views">
        {hasChat.value && (
          <Tab to={href({ view: "chat" })} isCurrent={shown.view === "chat"}>
            Chat
          </Tab>
        )}
        {hasState.value && (
          <Tab to={href({ view: "dashboard" })} isCurrent={shown.view === "dashboard"}>
            Dashboard
          </Tab>
        )}
        {graph && (
          <>
            <Tab to={href({ view: "graph", graph: graph.name })} isCurrent={shown.view === "graph"}>
              Graph
            </Tab>
            <Tab to={href({ view: "problems", graph: graph.name })} isCurrent={shown.view === "problems"}>
              Problems <Count of={findings} tone={graph.errors > 0 ? "tone-failed" : ""} />
            </Tab>
          </>
        )}
        <Tab to={href({ view: "sessions" })} isCurrent={shown.view === "sessions"}>
          Sessions <Count of={open} />
        </Tab>
        <Tab to={href({ view: "approvals" })} isCurrent={shown.view === "approvals"}>
          Approvals <Count of={approvals.value?.length ?? 0} tone="tone-held" />
        </Tab>
        {(deadCount.value > 0 || shown.view === "dead") && (
          <Tab to={href({ view: "dead" })} isCurrent={shown.view === "dead"}>
            Dead letters <Count of={deadCount.value} tone="tone-failed" />
          </Tab>
        )}
      </nav>
      <div class="header-tools">
        <button type="button" class="button quiet searchbox" onClick={() => (isPaletteShown.value = true)}>
          <Icon name="search" />
          <span class="wide">Search </span>
          <kbd class="wide">Ctrl K</kbd>
        </button>
        <button type="button" class="button icon-only quiet wide" aria-label="All keys" title="All keys (?)" onClick={() => (isKeysShown.value = true)}>
          <Icon name="keyboard" />
        </button>
        <button type="button" class="button icon-only quiet" aria-label={`Colours: ${theme.value}`} title={`Colours: ${theme.value}`} onClick={nextTheme}>
          <Icon name={themeIcon[theme.value]} />
        </button>
      </div>
    </header>
  );
}
