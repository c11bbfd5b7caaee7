/** A short list of sessions inside of another view. */

import type { JSX } from "preact";

import type { Head, Page } from "../api/types";
import { useResource } from "../state/resource";
import { href } from "../state/route";
import { Standing } from "../ui/standing";
import { Loaded } from "../ui/states";
import { Ago } from "../ui/time";

/** The sessions that `load` finds; `id` tells one question from another. */
export function SessionLinks({ id, title, load }: { id: string; title: string; load: () => Promise<Page<Head>> }): JSX.Element {
  const found = useResource(id, load, ({ event }) => event === "session" || event === "removed");
  return (
    <section>
      <h3>
        {title} <span class="dim">{found.data?.items.length ?? ""}</span>
      </h3>
      <Loaded of={found}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="dim">None.</p>
          ) : (
            <ul class="session-links">
              {items.map((head) => (
                <li key={head.session}>
                  <a href={href({ view: "session", session: head.session })}>{head.session}</a>
                  <Standing of={head.standing} />
                  <span class="dim">
                    <Ago at={head.at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
