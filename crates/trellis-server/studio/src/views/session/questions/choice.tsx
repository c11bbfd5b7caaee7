/** A choice: a button for each option, with the number that chooses it; open ones take other words besides. */

import type { JSX } from "preact";

import { useKeys } from "../../../ui/keys";
import type { QuestionProps } from "./props";
import { TextQuestion } from "./text";

const FEW = 9;

export function ChoiceQuestion(props: QuestionProps): JSX.Element {
  const { question, isSending, isFirst, send } = props;
  const options = question.options ?? [];
  useKeys((key) => {
    const option = isFirst && !isSending && /^[1-9]$/.test(key) ? options[Number(key) - 1] : undefined;
    if (option) send(option.value, option.text);
    return option !== undefined;
  });
  const isDefault = (value: unknown): boolean => question.default !== undefined && JSON.stringify(value) === JSON.stringify(question.default);
  return (
    <div class="choices-with-words">
      <ul class="choices" aria-label="Options">
        {options.map((option, at) => (
          <li key={at}>
            <button type="button" class="choice" disabled={isSending} data-ask={at === 0 ? "" : undefined} onClick={() => send(option.value, option.text)}>
              {at < FEW && isFirst && <kbd>{at + 1}</kbd>}
              <span>{option.text}</span>
              {isDefault(option.value) && <span class="dim">default</span>}
            </button>
          </li>
        ))}
      </ul>
      {question.open && <TextQuestion {...props} isFirst={false} />}
    </div>
  );
}
