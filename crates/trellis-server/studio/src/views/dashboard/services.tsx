/** Services and channels: how they are, and what starts them again. */

import type { JSX } from "preact";

import { restartService, startService } from "../../api/routes";
import type { Service, State } from "../../api/types";
import { Icon, type IconName } from "../../ui/icons";
import { Ago, duration } from "../../ui/time";
import { Deed } from "./deed";

const STATES: Record<string, { icon: IconName; tone: string }> = {
  running: { icon: "finished", tone: "finished" },
  starting: { icon: "running", tone: "running" },
  waiting: { icon: "clock", tone: "denied" },
  down: { icon: "failed", tone: "failed" },
  stopped: { icon: "denied", tone: "denied" },
  ended: { icon: "end", tone: "running" },
};

function Health({ of }: { of: string }): JSX.Element {
  const { icon, tone } = STATES[of] ?? { icon: "running" as const, tone: "running" };
  return (
    <span class={`standing tone-${tone}`}>
      <Icon name={icon} />
      {of}
    </span>
  );
}

export function Services({ services, refresh }: { services: Service[]; refresh: () => void }): JSX.Element {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="List of services">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col">State</th>
            <th scope="col">Since</th>
            <th scope="col" class="number">
              Restarts
            </th>
            <th scope="col">Error</th>
            <th scope="col">
              <span class="unseen">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {services.map(({ name, state, since, restarts, error }) => {
            const isUp = ["running", "starting"].includes(state);
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <Health of={state} />
                </td>
                <td>
                  <Ago at={since} />
                </td>
                <td class="number">{restarts}</td>
                <td class="table-words">{error}</td>
                <td class="table-deeds">
                  {isUp ? (
                    <Deed name="Restart" what={name} done={`${name} was started anew`} work={() => restartService(name)} refresh={refresh} />
                  ) : (
                    <Deed name="Start" what={name} done={`${name} was started`} work={() => startService(name)} refresh={refresh} />
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

export function Channels({ channels }: { channels: State["channels"] }): JSX.Element {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="List of channels">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Channel</th>
            <th scope="col">State</th>
            <th scope="col">Oldest message that waits</th>
            <th scope="col">Error</th>
          </tr>
        </thead>
        <tbody>
          {channels.map(({ name, lag, error }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <span class={`standing tone-${error === undefined ? "finished" : "failed"}`}>
                  <Icon name={error === undefined ? "finished" : "failed"} />
                  {error === undefined ? "reads" : "fails"}
                </span>
              </td>
              <td>{lag === 0 ? <span class="dim">none</span> : duration(lag)}</td>
              <td class="table-words">{error}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
