/** A number. It is sent as it was typed, so that a large one stays exact. */

import type { JSX } from "preact";

import { brief } from "../../../ui/value";
import type { QuestionProps } from "./props";

export function NumberQuestion({ question, draft, isSending, send }: QuestionProps): JSX.Element {
  const isWhole = question.input_type === "int";
  const submit = (event: Event): void => {
    event.preventDefault();
    if (draft.value === "" && question.default !== undefined) send(question.default, brief(question.default));
    else if (draft.value !== "") send(draft.value, draft.value);
  };
  return (
    <form class="ask-row" onSubmit={submit}>
      <input
        class="ask-field"
        aria-label={isWhole ? "A whole number" : "A number"}
        data-ask=""
        inputMode={isWhole ? "numeric" : "decimal"}
        autocomplete="off"
        placeholder={question.default === undefined ? (isWhole ? "A whole number" : "A number") : `${brief(question.default)} (default)`}
        value={draft}
        onInput={(event) => (draft.value = event.currentTarget.value)}
      />
      <button type="submit" class="button primary" disabled={isSending}>
        Send
      </button>
    </form>
  );
}
