/** The input that fits what is asked; a secret is typed elsewhere. */

import type { JSX } from "preact";

import { ChoiceQuestion } from "./choice";
import { ConfirmQuestion } from "./confirm";
import { JsonQuestion } from "./json";
import { NumberQuestion } from "./number";
import type { QuestionProps } from "./props";
import { TextQuestion } from "./text";

export function Question(props: QuestionProps): JSX.Element {
  switch (props.question.input_type) {
    case "choice":
      return <ChoiceQuestion {...props} />;
    case "confirm":
      return <ConfirmQuestion {...props} />;
    case "int":
    case "float":
      return <NumberQuestion {...props} />;
    case "json":
      return <JsonQuestion {...props} />;
    default:
      return (props.question.options?.length ?? 0) > 0 ? <ChoiceQuestion {...props} /> : <TextQuestion {...props} />;
  }
}
