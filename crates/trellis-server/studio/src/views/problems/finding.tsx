/** One finding: what is wrong, where, how a session gets there, and how to mend it. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { explain } from "../../api/routes";
import type { Diagnostic } from "../../api/types";
import { Command } from "../../ui/copy";
import { Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icons";
import { Source } from "../../ui/source";
import { Ticked } from "../../ui/ticked";
import { diffOf, excerptOf } from "./excerpt";

interface Props {
  found: Diagnostic;
  sources: Record<string, string>;
  isChosen: boolean;
  choose: () => void;
}

function Fix({ fix, sources }: { fix: NonNullable<Diagnostic["fix"]>; sources: Record<string, string> }): JSX.Element {
  const files = [...new Set(fix.edits.map((edit) => edit.path))];
  return (
    <div class="fix">
      <p>
        <strong>Fix:</strong> <Ticked text={fix.title} />
      </p>
      {files.map((path) => (
        <pre class="diff" key={path} aria-label={`Change of ${path}`}>
          {diffOf(
            sources[path] ?? "",
            fix.edits.filter((edit) => edit.path === path),
          ).map((line, at) => (
            <span key={at} class={`diff-line ${line.sign === "-" ? "diff-gone" : line.sign === "+" ? "diff-new" : ""}`}>
              {line.sign} {line.text}
            </span>
          ))}
        </pre>
      ))}
      <Command text="trellis check --fix" />
    </div>
  );
}

export function Finding({ found, sources, isChosen, choose }: Props): JSX.Element {
  const [page, setPage] = useState<string | null>(null);
  const excerpt = found.path === null ? null : excerptOf(found, sources[found.path] ?? "");
  const tone = found.severity === "error" ? "failed" : found.severity === "warning" ? "denied" : "waiting";
  return (
    <li class={`finding ${isChosen ? "is-chosen" : ""}`}>
      <button type="button" class="finding-head" aria-expanded={isChosen} onClick={choose}>
        <span class={`standing tone-${tone}`}>
          <Icon name={found.severity === "error" ? "failed" : "warning"} />
          {found.severity}
        </span>
        <span class="finding-message">
          <Ticked text={found.message} />
        </span>
        {found.line !== null && <span class="dim">line {found.line}</span>}
      </button>
      {isChosen && (
        <div class="finding-body">
          {excerpt && <Source text={excerpt.text} first={excerpt.first} marked={excerpt.marked} />}
          {found.labels.length > 0 && (
            <ol class="steps" aria-label="How a session gets there">
              {found.labels.map((label, at) => (
                <li key={at}>
                  <span>
                    <Ticked text={label.message} />
                  </span>
                  <code class="dim">
                    {label.path}:{label.line}
                  </code>
                </li>
              ))}
            </ol>
          )}
          {found.help !== null && (
            <p>
              <strong>Help:</strong> <Ticked text={found.help} />
            </p>
          )}
          {found.fix && <Fix fix={found.fix} sources={sources} />}
          <p>
            <button type="button" class="link" onClick={() => void explain(found.code).then(setPage)}>
              What <code>{found.code}</code> means
            </button>
          </p>
        </div>
      )}
      {page !== null && (
        <Dialog title={found.code} class="explain" close={() => setPage(null)}>
          <pre class="page-text">{page}</pre>
          <button type="button" class="button" onClick={() => setPage(null)}>
            Close
          </button>
        </Dialog>
      )}
    </li>
  );
}
