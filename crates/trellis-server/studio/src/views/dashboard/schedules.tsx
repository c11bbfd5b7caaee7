/** Schedules: what the agent does by itself, and when. */

import type { JSX } from "preact";

import { pauseSchedule, resumeSchedule } from "../../api/routes";
import type { Schedule } from "../../api/types";
import { Empty } from "../../ui/states";
import { duration } from "../../ui/time";
import { Deed } from "./deed";

/** When it happens, as somebody wrote it. */
function rhythm({ when, expr, every_ms, at }: Schedule): string {
  if (when !== undefined) return when;
  if (expr !== undefined) return expr;
  return every_ms === undefined ? `at ${typeof at === "number" ? moment(at) : at}` : `every ${duration(every_ms)}`;
}

function moment(at: number): string {
  return new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

export function Schedules({ schedules, refresh }: { schedules: Schedule[]; refresh: () => void }): JSX.Element {
  if (schedules.length === 0) {
    return (
      <Empty title="Nothing is scheduled">
        <p>
          <code>/cron add every 2h "Look at the queue"</code> in a chat schedules something.
        </p>
      </Empty>
    );
  }
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="List of schedules">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Says</th>
            <th scope="col">When</th>
            <th scope="col">Next</th>
            <th scope="col">Chat</th>
            <th scope="col" class="number">
              Runs
            </th>
            <th scope="col">
              <span class="unseen">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {schedules.map((job) => {
            const what = `schedule ${job.id}`;
            return (
              <tr key={job.id}>
                <th scope="row" class="table-words">
                  {job.name ?? job.prompt}
                </th>
                <td>
                  <code>{rhythm(job)}</code> <span class="dim">{job.tz}</span>
                </td>
                <td>{!job.enabled ? <span class="dim">paused</span> : job.next_at === undefined ? <span class="dim">never</span> : moment(job.next_at)}</td>
                <td>
                  {job.provider}:{job.chat}
                </td>
                <td class="number">{job.runs}</td>
                <td class="table-deeds">
                  {job.enabled ? (
                    <Deed name="Pause" what={what} done="The schedule is paused" work={() => pauseSchedule(job.id)} refresh={refresh} />
                  ) : (
                    <Deed name="Resume" what={what} done="The schedule goes on" work={() => resumeSchedule(job.id)} refresh={refresh} />
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
