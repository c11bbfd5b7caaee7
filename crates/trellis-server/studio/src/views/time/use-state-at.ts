/** A session as it was after a record. */

import { useRef } from "preact/hooks";

import { getStateAt } from "../../api/routes";
import type { StateAt } from "../../api/types";
import { type Resource, useResource } from "../../state/resource";

/** What was shown stays until there is another answer, so that steps through time do not flicker. */
export function useStateAt(session: string, seq: number): Resource<StateAt> {
  const found = useResource(`${session} ${seq}`, () => getStateAt(session, seq), () => false);
  const kept = useRef<StateAt | null>(null);
  if (found.data !== null) kept.current = found.data;
  return found.data === null && found.problem === null ? { ...found, data: kept.current } : found;
}
