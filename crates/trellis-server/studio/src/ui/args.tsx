/** The arguments of a call. Secrets are not in them: their names stand where they belong. */

import type { JSX } from "preact";

import { isMapping } from "../api/problem";
import type { Json, JsonObject, SecretPlace } from "../api/types";
import { Value } from "./value";

/** A text with the names of its secrets. Their offsets count bytes. */
function filled(text: string, places: SecretPlace[]): string {
  const bytes = new TextEncoder().encode(text);
  const between = (from: number, to?: number): string => new TextDecoder().decode(bytes.subarray(from, to));
  let from = 0;
  let whole = "";
  for (const { offset, name } of places) {
    whole += `${between(from, offset)}{{secret:${name}}}`;
    from = offset;
  }
  return whole + between(from);
}

function named(value: Json, secrets: SecretPlace[], pointer = ""): Json {
  if (typeof value === "string") return filled(value, secrets.filter((place) => place.pointer === pointer));
  if (Array.isArray(value)) return value.map((item, at) => named(item, secrets, `${pointer}/${at}`));
  if (!isMapping(value)) return value;
  const part = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, named(item, secrets, `${pointer}/${part(key)}`)]));
}

export function Args({ args, secrets = [] }: { args: JsonObject; secrets?: SecretPlace[] | undefined }): JSX.Element | null {
  if (Object.keys(args).length === 0) return null;
  return (
    <div class="panel-inset">
      <Value value={named(args, secrets)} />
    </div>
  );
}
