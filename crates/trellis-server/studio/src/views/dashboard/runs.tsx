/** The sessions of chats and the tasks, merged by their ids. */

import type { JSX } from "preact";

import type { Run, RunStanding, Task } from "../../api/types";
import { href } from "../../state/route";
import { Icon, type IconName } from "../../ui/icons";
import { Empty } from "../../ui/states";
import { Ago } from "../../ui/time";

const STATUSES: Record<string, { icon: IconName; tone: string; word: string }> = {
  running: { icon: "running", tone: "running", word: "running" },
  waiting_approval: { icon: "held", tone: "held", word: "approval" },
  completed: { icon: "finished", tone: "finished", word: "completed" },
  max_turns_reached: { icon: "denied", tone: "denied", word: "out of turns" },
  cancelled: { icon: "denied", tone: "denied", word: "cancelled" },
  failed: { icon: "failed", tone: "failed", word: "failed" },
};

function Status({ of }: { of: RunStanding }): JSX.Element {
  const { icon, tone, word } = STATUSES[of.status] ?? { icon: "running" as const, tone: "running", word: of.status.replaceAll("_", " ") };
  const waits = of.status === "running" && of.waiting !== undefined;
  return (
    <span class={`standing tone-${waits ? "waiting" : tone}`}>
      <Icon name={waits ? "waiting" : icon} />
      {waits ? `waits for ${of.waiting}` : word}
    </span>
  );
}

/** How far a task has come. */
function Steps({ task }: { task: Task }): JSX.Element | null {
  if (task.steps.length === 0) return null;
  const done = task.steps.filter(({ status }) => ["done", "completed"].includes(status)).length;
  return (
    <details>
      <summary>
        {done} of {task.steps.length} steps
      </summary>
      <ol class="steps">
        {task.steps.map((step, at) => (
          <li key={at}>
            {step.title} <span class="dim">{step.status.replaceAll("_", " ")}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

const ENTRIES: Record<string, string> = { agent: "Conversation", command: "Command", heartbeat: "Heartbeat", consolidate: "Memory", task: "Task" };

export function Runs({ runs, tasks }: { runs: Run[]; tasks: Task[] }): JSX.Element {
  const ids = new Set(tasks.map(({ session }) => session));
  const others = runs.filter(({ id }) => !ids.has(id));
  if (others.length + tasks.length === 0) {
    return (
      <Empty title="Nothing runs">
        <p>Each message begins a session, which stands here until it ends.</p>
      </Empty>
    );
  }
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="List of sessions and tasks">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Status</th>
            <th scope="col">Chat</th>
            <th scope="col">Node</th>
            <th scope="col">Began</th>
            <th scope="col">Steps</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <tr key={task.id}>
              <th scope="row" class="table-words">
                <a href={href({ view: "session", session: task.session })}>{task.title || task.id}</a>
              </th>
              <td>
                <Status of={task} />
              </td>
              <td>
                {task.provider}:{task.chat}
              </td>
              <td>
                <code>{task.node}</code>
                {task.turn !== undefined && task.max_turns !== undefined && (
                  <span class="dim">
                    {" "}
                    turn {task.turn} of {task.max_turns}
                  </span>
                )}
              </td>
              <td>
                <Ago at={task.created_at} />
              </td>
              <td class="table-words">{task.error ? <span class="tone-failed">{task.error}</span> : <Steps task={task} />}</td>
            </tr>
          ))}
          {others.map((run) => (
            <tr key={run.id}>
              <th scope="row">
                <a href={href({ view: "session", session: run.id })}>
                  {ENTRIES[run.entry] ?? run.entry} <span class="unseen">{run.id}</span>
                </a>
              </th>
              <td>
                <Status of={run} />
              </td>
              <td>
                {run.provider}:{run.chat}
              </td>
              <td>
                <code>{run.node}</code>
              </td>
              <td>
                <Ago at={run.created_at} />
              </td>
              <td />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
