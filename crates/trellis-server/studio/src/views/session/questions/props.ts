import type { Json, InputQuestion } from "../../../api/types";
import type { Signal } from "@preact/signals";

/** What each kind of question gets. */
export interface QuestionProps {
  question: InputQuestion;
  /** What was typed and not sent. */
  draft: Signal<string>;
  isSending: boolean;
  /** Whether number keys and the focus are its own: it is the question of the session, not one beside it. */
  isFirst: boolean;
  /** Sends a value; `words` is what the log shows of it. */
  send: (value: Json, words: string) => void;
}
