/** A secret: shown to nobody, cleared when it was sent, and never kept. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { QuestionProps } from "./props";

export function SecretQuestion({ isSending, send }: Pick<QuestionProps, "isSending" | "send">): JSX.Element {
  const [text, setText] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text === "") return;
    send(text, "•••");
    setText("");
  };
  return (
    <form class="ask-row" onSubmit={submit}>
      <input
        class="ask-field"
        type="password"
        aria-label="Your answer, which is not shown"
        data-ask=""
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="button primary" disabled={isSending}>
        Send
      </button>
    </form>
  );
}
