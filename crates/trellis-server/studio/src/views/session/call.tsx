/** A call that nothing here carries out: its arguments, and a box for its result, its error, or a denial. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { Call, Reply } from "../../api/types";
import { Args } from "../../ui/args";
import { brief } from "../../ui/value";
import { isBroken, JsonField, MeantAsText, readJson } from "./questions/json";

const OUTCOMES = ["result", "error", "denied"] as const;

export function OpenCall({ call, isSending, send }: { call: Call; isSending: boolean; send: (reply: Reply, words: string) => void }): JSX.Element {
  const [outcome, setOutcome] = useState<(typeof OUTCOMES)[number]>("result");
  const [text, setText] = useState("");
  /** Whether somebody gave JSON that is none. */
  const [isDoubted, setDoubted] = useState(false);
  const read = readJson(text, undefined);
  // A text that is no JSON is itself the result.
  const result = text.trim() === "" ? null : (read.value ?? text);
  const submit = (isText = false): void => {
    const { id } = call;
    setDoubted(outcome === "result" && !isText && isBroken(text));
    if (outcome === "result" && !isText && isBroken(text)) return;
    if (outcome === "result") send({ tool_result: { id, result } }, `${call.name} → ${brief(result)}`);
    else if (outcome === "error") send({ tool_result: { id, error: text || "failed" } }, `${call.name} failed: ${text}`);
    else send({ tool_result: text === "" ? { id, denied: true } : { id, denied: true, reason: text } }, `${call.name} denied`);
  };
  return (
    <form
      class="ask-column"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <p class="decision-call">
        <code>{call.name}</code> <span class="dim">has no binding here: carry it out, and say what came of it</span>
      </p>
      <Args args={call.args} secrets={call.secrets} />
      <div class="segments" role="group" aria-label="Outcome">
        {OUTCOMES.map((kind) => (
          <button type="button" key={kind} aria-pressed={outcome === kind} onClick={() => setOutcome(kind)}>
            {kind}
          </button>
        ))}
      </div>
      {outcome === "result" ? (
        <>
          <JsonField text={text} change={setText} label="The result, as JSON or as a text" send={submit} takesText />
          {isDoubted && isBroken(text) && <MeantAsText verb="Give it" send={() => submit(true)} />}
        </>
      ) : (
        <input
          class="ask-field"
          data-ask=""
          aria-label={outcome === "error" ? "What went wrong" : "Why it is denied"}
          placeholder={outcome === "error" ? "What went wrong" : "Why it is denied"}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      <p>
        <button type="submit" class="button primary" disabled={isSending}>
          Give the {outcome === "denied" ? "denial" : outcome}
        </button>
      </p>
    </form>
  );
}
