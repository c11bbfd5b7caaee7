/** What runs beside the conversations: services, channels, sessions and tasks, what waits and what was given up, schedules. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";

import { onLive } from "../../api/live";
import { getState } from "../../api/routes";
import type { State } from "../../api/types";
import { useResource } from "../../state/resource";
import { href } from "../../state/route";
import { Loaded } from "../../ui/states";
import { duration } from "../../ui/time";
import { MessageLetter } from "../lists/dead";
import { Runs } from "./runs";
import { Schedules } from "./schedules";
import { Channels, Services } from "./services";

const EVENTS = ["service", "channel", "task", "outbox", "cron", "dead", "approval"];

function Panel({ title, count, children }: { title: string; count?: number | undefined; children: ComponentChildren }): JSX.Element {
  return (
    <section class="panel" aria-label={title}>
      <h2>
        {title} {count !== undefined && count > 0 && <span class="count">{count}</span>}
      </h2>
      {children}
    </section>
  );
}

/** Numbers that tell at a glance whether somebody is needed. */
function Figures({ state }: { state: State }): JSX.Element {
  const { approvals, dead, outbox, memory, decisions, runs, tasks } = state;
  const waits = outbox.oldest === null ? "" : ` for ${duration(Date.now() - outbox.oldest)}`;
  const kilobytes = memory.bytes < 1024 ? `${memory.bytes} B` : `${Math.round(memory.bytes / 1024)} KiB`;
  const figures: { name: string; value: number | string; detail?: string; to?: string; tone?: string }[] = [
    { name: "approvals wait", value: approvals.length, to: href({ view: "approvals" }), tone: approvals.length > 0 ? "tone-held" : "" },
    { name: "dead letters", value: dead.length, to: href({ view: "dead" }), tone: dead.length > 0 ? "tone-failed" : "" },
    { name: "sessions go on", value: runs.length + tasks.length },
    { name: "messages to send", value: outbox.queued, detail: waits },
    { name: "memory", value: kilobytes, detail: `, ${memory.days} ${memory.days === 1 ? "day" : "days"}` },
    { name: "decisions", value: decisions },
  ];
  return (
    <dl class="glance">
      {figures.map(({ name, value, detail, to, tone }) => (
        <div key={name} class={tone ?? ""}>
          <dt>{to ? <a href={to}>{name}</a> : name}</dt>
          <dd>
            {value}
            {detail && <span class="dim">{detail}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function DashboardView(): JSX.Element {
  const state = useResource("state", getState, () => false);
  const { refresh } = state;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onLive(({ event }) => {
      if (!EVENTS.includes(event)) return;
      clearTimeout(timer);
      timer = setTimeout(refresh, 80);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [refresh]);
  return (
    <main class="page dashboard">
      <h1>Dashboard</h1>
      <Loaded of={state}>
        {(now) => {
          const messages = now.dead.filter((letter) => letter.kind === "message");
          return (
            <>
              <Figures state={now} />
              <Panel title="Sessions and tasks" count={now.runs.length + now.tasks.length}>
                <Runs runs={now.runs} tasks={now.tasks} />
              </Panel>
              {messages.length > 0 && (
                <Panel title="Messages that were given up" count={messages.length}>
                  <ul class="held-list">
                    {messages.map((letter) => (
                      <MessageLetter letter={letter} key={letter.id} />
                    ))}
                  </ul>
                </Panel>
              )}
              <Panel title="Schedules" count={now.cron.length}>
                <Schedules schedules={now.cron} refresh={refresh} />
              </Panel>
              <Panel title="Channels">
                <Channels channels={now.channels} />
              </Panel>
              {now.services.length > 0 && (
                <Panel title="Services">
                  <Services services={now.services} refresh={refresh} />
                </Panel>
              )}
            </>
          );
        }}
      </Loaded>
    </main>
  );
}
