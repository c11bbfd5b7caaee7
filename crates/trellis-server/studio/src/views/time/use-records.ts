/** The records of a session, page by page as they come in sight. */

import { useEffect, useRef, useState } from "preact/hooks";

import { isMapping } from "../../api/client";
import { onLive } from "../../api/live";
import { getRecords } from "../../api/routes";
import type { SessionRecord } from "../../api/types";

const PAGE = 200;

export interface Records {
  /** The oldest one that is kept. */
  first: number;
  /** One past the newest. */
  end: number;
  /** A record, if it was read already. */
  at: (seq: number) => SessionRecord | undefined;
  /** Reads those between, unless they were. */
  need: (from: number, to: number) => void;
}

interface Kept {
  session: string;
  records: Map<number, SessionRecord>;
  asked: Set<number>;
  first: number;
}

export function useRecords(session: string, end: number): Records {
  const kept = useRef<Kept>({ session, records: new Map(), asked: new Set(), first: 0 });
  if (kept.current.session !== session) kept.current = { session, records: new Map(), asked: new Set(), first: 0 };
  const [, setVersion] = useState(0);
  const changed = (): void => setVersion((version) => version + 1);

  const read = async (page: number): Promise<void> => {
    const target = kept.current;
    if (target.asked.has(page)) return;
    target.asked.add(page);
    try {
      const { items, first } = await getRecords(target.session, page * PAGE, PAGE);
      target.first = first;
      for (const record of items) {
        for (let seq = record.seq; seq <= (record.until ?? record.seq); seq += 1) target.records.set(seq, record);
      }
    } catch {
      // It is asked for again when it comes in sight again.
      target.asked.delete(page);
    }
    changed();
  };

  useEffect(
    () =>
      onLive(({ event, data }) => {
        if (event === "refresh") {
          kept.current.asked.clear();
          changed();
        }
        if (event === "record" && data.session === session && typeof data.seq === "number" && typeof data.at === "number" && typeof data.kind === "string") {
          const { seq, at, kind } = data;
          kept.current.records.set(seq, { ...(isMapping(data) ? data : {}), seq, at, kind });
          changed();
        }
      }),
    [session],
  );

  const need = (from: number, to: number): void => {
    for (let page = Math.floor(Math.max(0, from) / PAGE); page * PAGE < Math.min(to, end); page += 1) {
      const last = Math.min(end, (page + 1) * PAGE) - 1;
      // The newest page grows: it is read again where something of it is missing.
      const isWhole = kept.current.records.has(last) && kept.current.records.has(Math.max(page * PAGE, kept.current.first));
      if (!isWhole) {
        if (kept.current.asked.has(page) && kept.current.records.has(page * PAGE)) kept.current.asked.delete(page);
        void read(page);
      }
    }
  };
  return { first: kept.current.first, end, at: (seq) => kept.current.records.get(seq), need };
}
