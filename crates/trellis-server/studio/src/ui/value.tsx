/** Values of JSON, readable: mappings and lists open and close, long texts wrap. */

import type { JSX } from "preact";

import type { Json } from "../api/types";
import { visible } from "./visible";

/** A value in one line. */
export function brief(value: Json | undefined, most = 80): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function isFlat(value: Json): boolean {
  return value === null || typeof value !== "object" || Object.keys(value).length === 0;
}

function Scalar({ value }: { value: Json }): JSX.Element {
  const kind = value === null ? "null" : typeof value;
  return <code class={`value value-${kind}`}>{typeof value === "string" ? visible(value) || '""' : JSON.stringify(value)}</code>;
}

/** A value; what lies deeper than `open` is folded. */
export function Value({ value, open = 2 }: { value: Json; open?: number }): JSX.Element {
  if (isFlat(value)) return <Scalar value={value} />;
  const isList = Array.isArray(value);
  const entries: [string, Json][] = isList ? value.map((item, at) => [String(at), item]) : Object.entries(value ?? {});
  return (
    <dl class="entries">
      {entries.map(([key, item]) =>
        isFlat(item) ? (
          <div class="entry" key={key}>
            <dt>{visible(key)}</dt>
            <dd>
              <Scalar value={item} />
            </dd>
          </div>
        ) : (
          <div class="entry entry-deep" key={key}>
            <dt class="unseen">{visible(key)}</dt>
            <dd>
              <details open={open > 0}>
                <summary>
                  <span class="entry-key">{visible(key)}</span> <span class="dim">{Array.isArray(item) ? `${item.length} items` : `${Object.keys(item ?? {}).length} keys`}</span>
                </summary>
                <Value value={item} open={open - 1} />
              </details>
            </dd>
          </div>
        ),
      )}
    </dl>
  );
}
