/** A first look at a value by a JSON Schema, while it is typed. The server judges by the whole schema. */

import type { Json } from "../../api/types";
import { isMapping } from "../../api/problem";

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

function isOfType(value: Json, wanted: string): boolean {
  const type = typeOf(value);
  return type === wanted || (wanted === "number" && type === "integer");
}

function same(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function bounds(value: Json, schema: { [key: string]: Json }): string | null {
  const is = (key: string, fails: (bound: number) => boolean): boolean => typeof schema[key] === "number" && fails(schema[key]);
  if (typeof value === "number") {
    if (is("minimum", (least) => value < least)) return `must be at least ${String(schema.minimum)}`;
    if (is("maximum", (most) => value > most)) return `must be at most ${String(schema.maximum)}`;
  }
  if (typeof value === "string") {
    if (is("minLength", (least) => value.length < least)) return `needs ${String(schema.minLength)} characters`;
    if (is("maxLength", (most) => value.length > most)) return `has more than ${String(schema.maxLength)} characters`;
  }
  if (Array.isArray(value)) {
    if (is("minItems", (least) => value.length < least)) return `needs ${String(schema.minItems)} items`;
    if (is("maxItems", (most) => value.length > most)) return `has more than ${String(schema.maxItems)} items`;
  }
  return null;
}

/** What is wrong with a value, as `path: why`. */
export function misfits(value: Json, schema: Json | undefined, path = ""): string[] {
  if (!isMapping(schema)) return [];
  const at = (why: string): string[] => [path === "" ? why : `${path}: ${why}`];
  const types = typeof schema.type === "string" ? [schema.type] : Array.isArray(schema.type) ? schema.type.filter((type) => typeof type === "string") : [];
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return at(`must be ${types.join(" or ")}, not ${typeOf(value)}`);
  if (Array.isArray(schema.enum) && !schema.enum.some((known) => same(known, value))) return at(`must be one of ${schema.enum.map((known) => JSON.stringify(known)).join(", ")}`);
  const bound = bounds(value, schema);
  if (bound !== null) return at(bound);
  if (Array.isArray(value)) return value.flatMap((item, number) => misfits(item, schema.items, `${path}/${number}`));
  if (!isMapping(value)) return [];
  const known = isMapping(schema.properties) ? schema.properties : {};
  const missing = Array.isArray(schema.required) ? schema.required.filter((key) => typeof key === "string" && !(key in value)) : [];
  const foreign = schema.additionalProperties === false ? Object.keys(value).filter((key) => !(key in known)) : [];
  return [
    ...missing.flatMap((key) => at(`\`${String(key)}\` is missing`)),
    ...foreign.flatMap((key) => at(`\`${key}\` is not known`)),
    ...Object.entries(value).flatMap(([key, item]) => misfits(item, known[key], `${path}/${key}`)),
  ];
}
