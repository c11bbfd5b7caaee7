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

/** A field for JSON with what is wrong below it. */
export function JsonField({ text, change, schema, label, send }: {
  text: string;
  change: (text: string) => void;
  schema?: InputQuestion["schema"];
  label: string;
  send: () => void;
}): JSX.Element {
  const id = useId();
  const { errors } = text.trim() === "" ? { errors: [] } : readJson(text, schema);
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
