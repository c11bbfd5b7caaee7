/** JSON, held against the node's schema while it is typed. */

import type { JSX } from "preact";
import { useId } from "preact/hooks";

import type { Json, InputQuestion } from "../../../api/types";
import { brief } from "../../../ui/value";
import { misfits } from "../schema";
import type { QuestionProps } from "./props";

type Read = { value: Json; errors: string[] } | { value?: undefined; errors: string[] };

/** Reads what was typed, and says what is wrong with it. */
export function readJson(text: string, schema: Json | undefined): Read {
  try {
    const value: Json = JSON.parse(text);
    return { value, errors: misfits(value, schema) };
  } catch (error) {
    return { errors: [error instanceof Error ? error.message : String(error)] };
  }
}

/** Whether a text begins like JSON and is none: it was hardly meant as a text. */
export function isBroken(text: string): boolean {
  return /^\s*[{["]/.test(text) && readJson(text, undefined).value === undefined;
}

/** Says that something is no JSON, and offers to take it as a text all the same. */
export function MeantAsText({ verb, send }: { verb: string; send: () => void }): JSX.Element {
  return (
    <div class="refusal" role="alert">
      <p>This begins like JSON and is none, so it was not sent. Complete it, or send it as it is.</p>
      <p class="row">
        <button type="button" class="button" onClick={send}>
          {verb} as a text
        </button>
      </p>
    </div>
  );
}

/** A field for JSON with what is wrong below it. */
export function JsonField({ text, change, schema, label, send, takesText = false }: {
  text: string;
  change: (text: string) => void;
  schema?: InputQuestion["schema"];
  label: string;
  send: () => void;
  /** Whether what is no JSON is a text. */
  takesText?: boolean;
}): JSX.Element {
  const id = useId();
  const isRead = takesText ? isBroken(text) : text.trim() !== "";
  const { errors } = isRead ? readJson(text, schema) : { errors: [] };
  return (
    <div class="json-field">
      <textarea
        class="ask-field mono"
        aria-label={label}
        aria-invalid={errors.length > 0}
        aria-describedby={id}
        data-ask=""
        rows={Math.min(14, Math.max(4, text.split("\n").length))}
        spellcheck={false}
        placeholder={"{ }"}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
        }}
      />
      <ul class="field-errors" id={id} aria-live="polite">
        {errors.slice(0, 4).map((error) => (
          <li key={error}>{error}</li>
        ))}
      </ul>
    </div>
  );
}

export function JsonQuestion({ question, draft, isSending, send }: QuestionProps): JSX.Element {
  const read = readJson(draft.value, question.schema);
  const submit = (): void => {
    if (draft.value.trim() === "" && question.default !== undefined) send(question.default, brief(question.default));
    else if (read.value !== undefined) send(read.value, brief(read.value, 400));
  };
  return (
    <form
      class="ask-column"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <JsonField text={draft.value} change={(text) => (draft.value = text)} schema={question.schema} label="Your answer, as JSON" send={submit} />
      <p class="row">
        <button type="submit" class="button primary" disabled={isSending || (read.value === undefined && question.default === undefined)}>
          Send
        </button>
        <span class="dim">Ctrl Enter sends</span>
      </p>
    </form>
  );
}
