/** Words: Enter sends, Shift and Enter breaks the line. */

import type { JSX } from "preact";

import { brief } from "../../../ui/value";
import type { QuestionProps } from "./props";

export function TextQuestion({ question, draft, isSending, send }: QuestionProps): JSX.Element {
  const submit = (): void => {
    if (draft.value === "" && question.default !== undefined) send(question.default, brief(question.default));
    else send(draft.value, draft.value);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!isSending) submit();
  };
  const rows = Math.min(10, Math.max(1, draft.value.split("\n").length));
  return (
    <form
      class="ask-row"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        class="ask-field"
        aria-label="Your answer"
        data-ask=""
        rows={rows}
        placeholder={question.default === undefined ? "Your answer" : `${brief(question.default)} (default)`}
        value={draft}
        onInput={(event) => (draft.value = event.currentTarget.value)}
        onKeyDown={press}
      />
      <button type="submit" class="button primary" disabled={isSending}>
        {draft.value === "" && question.input_type === "any" ? "Go on" : "Send"}
      </button>
    </form>
  );
}
