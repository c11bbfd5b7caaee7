/** Yes or no. */

import type { JSX } from "preact";

import { useKeys } from "../../../ui/keys";
import type { QuestionProps } from "./props";

export function ConfirmQuestion({ isSending, isFirst, send }: Omit<QuestionProps, "question" | "draft">): JSX.Element {
  useKeys((key) => {
    if (!isFirst || isSending || (key !== "1" && key !== "2")) return false;
    send(key === "1", key === "1" ? "Yes" : "No");
    return true;
  });
  return (
    <div class="two-buttons">
      <button type="button" class="choice" data-ask="" disabled={isSending} onClick={() => send(true, "Yes")}>
        {isFirst && <kbd>1</kbd>} Yes
      </button>
      <button type="button" class="choice" disabled={isSending} onClick={() => send(false, "No")}>
        {isFirst && <kbd>2</kbd>} No
      </button>
    </div>
  );
}
