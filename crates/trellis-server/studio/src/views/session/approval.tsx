/** A call that waits for a person: what would be done, why it is asked, and two equal buttons. */

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";

import type { ApprovalQuestion } from "../../api/types";
import { Args } from "../../ui/args";
import { useKeys } from "../../ui/keys";
import { Ticked } from "../../ui/ticked";
import { visible } from "../../ui/visible";

interface Props {
  question: ApprovalQuestion;
  part?: string | number | undefined;
  notes?: string[];
  isSent: boolean;
  /** Whether pressing A or D twice decides. */
  hasKeys?: boolean;
  decide: (decision: "approve" | "deny", because?: string) => void;
}

/** The time between the two presses of a key. */
const TWICE = 1500;

export function Decision({ question, part, notes = [], isSent, hasKeys = false, decide }: Props): JSX.Element {
  const [because, setBecause] = useState("");
  const [armed, setArmed] = useState<string | null>(null);
  const pressed = useRef({ key: "", at: 0 });
  useKeys((key) => {
    const pressedKey = key.toLowerCase();
    if (!hasKeys || isSent || (pressedKey !== "a" && pressedKey !== "d")) return false;
    const isSecond = pressed.current.key === pressedKey && Date.now() - pressed.current.at < TWICE;
    pressed.current = { key: pressedKey, at: Date.now() };
    setArmed(isSecond ? null : pressedKey);
    if (isSecond) decide(pressedKey === "a" ? "approve" : "deny", because || undefined);
    return true;
  });
  return (
    <div class="decision">
      {question.ask && <p class="decision-ask">{visible(question.ask)}</p>}
      <p class="decision-call">
        <code>{question.name}</code>
        {part !== undefined && <span class="dim">part {part}</span>}
      </p>
      <Args args={question.args} secrets={question.secrets} />
      {notes.length > 0 && (
        <ul class="notes" aria-label="Why it is asked">
          {notes.map((note) => (
            <li key={note}>
              <Ticked text={note} />
            </li>
          ))}
        </ul>
      )}
      <label class="field inline grow">
        <span>Why not, if you deny it</span>
        <input value={because} onInput={(event) => setBecause(event.currentTarget.value)} />
      </label>
      <div class="two-buttons">
        <button type="button" class="button decision-button" disabled={isSent} onClick={() => decide("approve")}>
          Approve {hasKeys && <kbd>A A</kbd>}
        </button>
        <button type="button" class="button decision-button" disabled={isSent} onClick={() => decide("deny", because || undefined)}>
          Deny {hasKeys && <kbd>D D</kbd>}
        </button>
      </div>
      <p class="dim armed" aria-live="polite">
        {armed === "a" && "Press A again to approve."}
        {armed === "d" && "Press D again to deny."}
      </p>
    </div>
  );
}
