/** What an edit of the graph makes a session ask for: keys that its node needs now, or which of two calls it should make. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { JsonObject, Reply } from "../../api/types";
import { isBroken, MeantAsText, readJson } from "./questions/json";

interface Props {
  isSending: boolean;
  send: (reply: Reply, words: string) => void;
}

export function NeededKeys({ keys, node, isSending, send }: Props & { keys: string[]; node: string }): JSX.Element {
  const [texts, setTexts] = useState<Record<string, string>>({});
  /** Whether somebody gave JSON that is none. */
  const [isDoubted, setDoubted] = useState(false);
  const hasBroken = keys.some((key) => isBroken(texts[key] ?? ""));
  const give = (): void => {
    const context: JsonObject = {};
    for (const key of keys) context[key] = readJson(texts[key] ?? "", undefined).value ?? texts[key] ?? "";
    send({ context }, keys.join(", "));
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    setDoubted(hasBroken);
    if (!hasBroken) give();
  };
  return (
    <form class="ask-column" onSubmit={submit}>
      <p>
        The graph was edited: <code>{node}</code> needs what this session does not have.
      </p>
      {keys.map((key, at) => (
        <label class="field" key={key}>
          <span>
            <code>{key}</code>
          </span>
          <input
            data-ask={at === 0 ? "" : undefined}
            placeholder="a text, or JSON"
            value={texts[key] ?? ""}
            onInput={(event) => setTexts({ ...texts, [key]: event.currentTarget.value })}
          />
        </label>
      ))}
      {isDoubted && hasBroken && <MeantAsText verb={keys.length === 1 ? "Give it" : "Give them"} send={give} />}
      <p>
        <button type="submit" class="button primary" disabled={isSending || keys.some((key) => !texts[key])}>
          Give {keys.length === 1 ? "it" : "them"}
        </button>
      </p>
    </form>
  );
}

export function ChangedCall({ pending, now, isSending, send }: Props & { pending: string; now: string | null }): JSX.Element {
  return (
    <div class="ask-column">
      <p>
        The graph was edited while <code>{pending}</code> is pending. {now === null ? "The node calls nothing now." : <>The node calls <code>{now}</code> now.</>}
      </p>
      <div class="two-buttons">
        <button type="button" class="button" data-ask="" disabled={isSending} onClick={() => send({ keep: true }, `keep ${pending}`)}>
          Keep {pending}
        </button>
        <button type="button" class="button" disabled={isSending} onClick={() => send({ keep: false }, "call as the graph says now")}>
          Call as the graph says now
        </button>
      </div>
    </div>
  );
}
