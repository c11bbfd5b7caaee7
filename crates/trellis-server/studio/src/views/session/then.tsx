/** Here, as it was after a record: what its node said, and nothing to answer. */

import type { JSX } from "preact";

import type { StateAt } from "../../api/types";
import type { Resource } from "../../state/resource";
import { Html } from "../../ui/html";
import { Loaded } from "../../ui/states";

export function Then({ state }: { state: Resource<StateAt> }): JSX.Element {
  return (
    <section class="here" aria-label="Then">
      <div class="here-scroll" tabIndex={0} role="region" aria-label="What was said">
        <Loaded of={state}>
          {({ child, to, html }) => (
            <article class="said-by">
              <p class="said-node">
                {child !== undefined && `${child} · `}
                {to}
              </p>
              {html === undefined ? <p class="dim">It said nothing.</p> : <Html class="said" html={html} />}
            </article>
          )}
        </Loaded>
      </div>
    </section>
  );
}
