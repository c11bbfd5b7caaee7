/** A session as it was after a record. */

import { useRef } from "preact/hooks";

import { getRecords, getStateAt } from "../../api/routes";
import type { StateAt } from "../../api/types";
import { type Resource, useResource } from "../../state/resource";
import type { Records } from "./use-records";

/**
 * The session after its newest record, or the one of its tree that a record of before belongs to.
 *
 * What was shown stays until there is another answer, so that steps through time do not flicker.
 */
export function useStateAt(session: string, at: number | null, last: number, records: Records): Resource<StateAt> {
  const load = async (): Promise<StateAt> => {
    // The newest record may be one of a child; what can be set is the context of the session itself.
    if (at === null) return { ...(await getStateAt(session, last, undefined)), child: undefined };
    const record = records.at(at) ?? (await getRecords(session, at, 1)).items[0];
    return getStateAt(session, at, record?.child);
  };
  const found = useResource(`${session} ${at ?? `now ${last}`}`, load, () => false);
  const kept = useRef<StateAt | null>(null);
  if (found.data !== null) kept.current = found.data;
  return found.data === null && found.problem === null ? { ...found, data: kept.current } : found;
}
