/** Moments and durations, short, with the whole on hover. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";

/** The clock of the page, in steps of a second. */
export const clock = signal(Date.now());
setInterval(() => {
  clock.value = Date.now();
}, 1000);

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration, such as `3 min`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** A moment, such as `3 min ago`. */
export function Ago({ at }: { at: number }): JSX.Element {
  const passed = clock.value - at;
  return (
    <time dateTime={new Date(at).toISOString()} title={new Date(at).toLocaleString()}>
      {passed < 10 * SECOND ? "now" : `${duration(passed)} ago`}
    </time>
  );
}

/** The time of day. */
export function timeOfDay(at: number): string {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

/** What is left until `due`; `skew` is the server's clock less that of the page. */
export function Countdown({ due, skew }: { due: number; skew: number }): JSX.Element {
  const left = due - (clock.value + skew);
  return (
    <span class="countdown" title={`until ${new Date(due - skew).toLocaleTimeString()}`}>
      <span aria-hidden="true">{left <= 0 ? "time is up" : left < HOUR ? minutes(left) : duration(left)}</span>
      <span class="unseen">until {new Date(due - skew).toLocaleTimeString()}</span>
    </span>
  );
}

function minutes(left: number): string {
  const seconds = Math.ceil(left / SECOND);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
