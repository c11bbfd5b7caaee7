/** A button that does something at once, and says beside itself why it could not. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { problemOf } from "../../api/client";
import { announce } from "../../shell/overlays";

interface Props {
  name: string;
  /** What it is done to, for those who do not see the row. */
  what: string;
  /** What is said once it is done. */
  done: string;
  work: () => Promise<unknown>;
  refresh: () => void;
}

export function Deed({ name, what, done, work, refresh }: Props): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const press = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    try {
      await work();
      announce(done);
    } catch (error) {
      const { title, detail } = problemOf(error);
      setProblem(detail || title);
    } finally {
      setBusy(false);
      refresh();
    }
  };
  return (
    <>
      <button type="button" class="button small" aria-label={`${name} ${what}`} disabled={isBusy} onClick={() => void press()}>
        {name}
      </button>
      {problem !== "" && (
        <span class="deed-problem tone-failed" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}
