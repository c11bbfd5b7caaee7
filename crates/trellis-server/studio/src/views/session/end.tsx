/** How a session ended, and what it came to. */

import type { JSX } from "preact";

import type { End } from "../../api/types";
import { Standing } from "../../ui/standing";
import { Value } from "../../ui/value";

export function Ended({ end }: { end: End }): JSX.Element {
  return (
    <div class="ended">
      <p class="row">
        <Standing of={end.reason} />
        {end.node !== undefined && <code class="dim">{end.node}</code>}
        {end.code !== undefined && <code class="dim">{end.code}</code>}
      </p>
      {end.message !== undefined && <p>{end.message}</p>}
      {end.place && (
        <p>
          <code class="dim">{`${end.place.path}:${end.place.line}:${end.place.column}`}</code>
          {end.place.key !== undefined && <code class="dim"> {end.place.key}</code>}
        </p>
      )}
      {end.output !== null && (
        <section>
          <h2 class="minor">Output</h2>
          <div class="panel-inset">
            <Value value={end.output} />
          </div>
        </section>
      )}
      {end.rollback && (
        <section>
          <h2 class="minor">What could not be undone</h2>
          <div class="panel-inset">
            <Value value={{ failed: end.rollback.failed, irreversible: end.rollback.irreversible }} />
          </div>
        </section>
      )}
    </div>
  );
}
