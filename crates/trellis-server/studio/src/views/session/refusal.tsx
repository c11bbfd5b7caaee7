/** Why an answer was not taken, and what would be. */

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { Problem } from "../../api/problem";
import { Ticked } from "../../ui/ticked";

export function Refusal({ refusal, seq }: { refusal: { problem: Problem }; seq: number }): JSX.Element {
  const { problem } = refusal;
  const isAnew = problem.status === 412;
  const here = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => here.current?.scrollIntoView({ block: "nearest" }), [refusal]);
  return (
    <div class="refusal" role="alert" ref={here}>
      <p class="failed-title">{isAnew ? "Asked anew" : problem.title}</p>
      <p>
        <Ticked
          text={
            isAnew ? `The session went on meanwhile: record ${seq} comes next. What you typed stays, look whether it still fits.` : problem.detail
          }
        />
      </p>
      {problem.errors.length > 0 && (
        <ul>
          {problem.errors.map((error) => (
            <li key={error.pointer + error.message}>
              {error.pointer !== "" && <code>{error.pointer}</code>} {error.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
