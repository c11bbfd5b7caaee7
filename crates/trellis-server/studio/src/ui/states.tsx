/** The states that every view has besides its own: empty, loading, failed. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Problem } from "../api/client";
import type { Resource } from "../state/resource";
import { Ticked } from "./ticked";

/** Says what would be here, and what makes it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** The shape of what comes, once it takes long enough to be noticed. */
export function Loading({ lines = 4 }: { lines?: number }): JSX.Element | null {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return null;
  return (
    <div class="loading" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: lines }, (_, at) => (
        <span class={`loading-line loading-${at % 3}`} key={at} />
      ))}
    </div>
  );
}

/** A problem, with a way to try again and its text to copy. */
export function Failed({ problem, again }: { problem: Problem; again?: () => void }): JSX.Element {
  const text = `${problem.title} (${problem.code})\n${problem.detail}`;
  return (
    <div class="failed" role="alert">
      <p class="failed-title">{problem.title}</p>
      {problem.detail !== problem.title && <p>
          <Ticked text={problem.detail} />
        </p>}
      <p class="row">
        {again && (
          <button type="button" class="button" onClick={again}>
            Try again
          </button>
        )}
        <button type="button" class="button quiet" onClick={() => void navigator.clipboard?.writeText(text)}>
          Copy as text
        </button>
        <code class="dim">{problem.code}</code>
      </p>
    </div>
  );
}

/** What was asked for once it is there; until then its state. */
export function Loaded<Shape>({ of, children }: { of: Resource<Shape>; children: (data: Shape) => ComponentChildren }): JSX.Element | null {
  if (of.data !== null) return <>{children(of.data)}</>;
  if (of.problem !== null) return <Failed problem={of.problem} again={of.refresh} />;
  return <Loading />;
}
