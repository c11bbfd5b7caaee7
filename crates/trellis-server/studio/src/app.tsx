/** The page: a header, the view that the address names, and what lies over it. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { ConnectionBar, TokenPage, VersionBar } from "./shell/bars";
import { Header } from "./shell/header";
import { Keys } from "./shell/keys";
import { announcement, beginning, isPaletteShown } from "./shell/overlays";
import { Palette } from "./shell/palette";
import { connection } from "./state/connection";
import { currentGraph, graphs, hasChat } from "./state/graphs";
import { href, parse, replace, route } from "./state/route";
import { isRefused } from "./state/token";
import { Announced } from "./ui/announced";
import { Empty } from "./ui/states";
import { GraphView } from "./views/graph/graph";
import { GraphsView } from "./views/graphs";
import { ChatView } from "./views/chat/chat";
import { DashboardView } from "./views/dashboard/dashboard";
import { ApprovalsView } from "./views/lists/approvals";
import { DeadView } from "./views/lists/dead";
import { SessionsView } from "./views/lists/sessions";
import { ProblemsView } from "./views/problems/problems";
import { Begin } from "./views/session/begin";
import { SessionView } from "./views/session/session";

function View(): JSX.Element {
  const shown = route.value;
  const only = graphs.value?.length === 1 ? graphs.value[0] : undefined;
  // One graph needs no list of graphs, and an agent is there to talk with.
  useEffect(() => {
    // The address may name another view by now, whose change is not heard yet.
    if (parse(location.hash).view === "graphs" && only) replace(hasChat.value ? { view: "chat" } : { view: "graph", graph: only.name });
  }, [shown, only]);
  switch (shown.view) {
    case "graphs":
      return <GraphsView />;
    case "graph":
      return <GraphView key={shown.graph} name={shown.graph} node={shown.node ?? null} />;
    case "problems":
      return <ProblemsView key={shown.graph} name={shown.graph} />;
    case "session":
      return <SessionView id={shown.session} at={shown.at ?? null} isAlone={shown.isAlone ?? false} />;
    case "sessions":
      return <SessionsView />;
    case "approvals":
      return <ApprovalsView />;
    case "dead":
      return <DeadView />;
    case "dashboard":
      return <DashboardView />;
    case "chat":
      return <ChatView key={shown.thread ?? ""} thread={shown.thread} />;
    case "unknown":
      return (
        <main class="page">
          <h1>Nothing is here</h1>
          <Empty title="The address names no view of the studio">
            <a href={href({ view: "graphs" })}>All graphs</a>
          </Empty>
        </main>
      );
  }
}

/** The title of the window: what is shown, in which graph. */
function titleOf(): string {
  const shown = route.value;
  const named: Partial<Record<string, string>> = { dead: "dead letters" };
  const name = named[shown.view] ?? (shown.view === "session" ? shown.session : shown.view === "graph" ? shown.graph : shown.view);
  const graph = currentGraph.value?.name;
  return [name, graph === name ? undefined : graph, "Trellis"].filter((part) => part !== undefined).join(" · ");
}

export function App(): JSX.Element {
  const title = titleOf();
  useEffect(() => {
    document.title = title;
  }, [title]);
  if (isRefused.value) return <TokenPage />;
  return (
    <div class={`app ${connection.value.state === "lost" ? "is-offline" : ""}`}>
      <Header />
      <ConnectionBar />
      <VersionBar />
      <View />
      <Keys />
      {isPaletteShown.value && <Palette />}
      {beginning.value && <Begin graph={beginning.value.graph} at={beginning.value.at} close={() => (beginning.value = null)} />}
      <Announced {...announcement.value} />
    </div>
  );
}
