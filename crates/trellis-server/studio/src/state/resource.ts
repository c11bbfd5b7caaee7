/** Something that is asked of the server, kept while it is asked again. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { type Problem, problemOf } from "../api/client";
import { type LiveEvent, onLive } from "../api/live";

export interface Resource<Shape> {
  data: Shape | null;
  problem: Problem | null;
  /** Asks again. */
  refresh: () => void;
  /** Takes an answer that came another way. */
  take: (data: Shape) => void;
}

interface Answer<Shape> {
  key: string;
  data: Shape | null;
  problem: Problem | null;
}

/**
 * Asks for something now, whenever `key` changes, and after each event that `wakes` admits. What is known stays in place until there is an answer.
 *
 * Answers may overtake each other: one that is older than what is shown does not count.
 */
export function useResource<Shape>(key: string, load: () => Promise<Shape>, wakes: (event: LiveEvent) => boolean): Resource<Shape> {
  const [answer, setAnswer] = useState<Answer<Shape>>({ key, data: null, problem: null });
  const asked = useRef(0);
  const shown = useRef(0);
  const latest = useRef({ load, wakes });
  latest.current = { load, wakes };

  const refresh = useCallback(() => {
    const number = ++asked.current;
    const show = (change: (before: Answer<Shape>) => Answer<Shape>): void => {
      if (number <= shown.current) return;
      shown.current = number;
      setAnswer(change);
    };
    latest.current.load().then(
      (data) => show(() => ({ key, data, problem: null })),
      (error: unknown) => show((before) => ({ key, data: before.key === key ? before.data : null, problem: problemOf(error) })),
    );
  }, [key]);

  useEffect(() => {
    // What was asked under another key answers nothing here.
    shown.current = asked.current;
    refresh();
    return onLive((event) => {
      if (event.event === "refresh" || latest.current.wakes(event)) refresh();
    });
  }, [refresh]);

  const take = useCallback(
    (data: Shape) => {
      asked.current += 1;
      shown.current = asked.current;
      setAnswer({ key, data, problem: null });
    },
    [key],
  );
  const isOfKey = answer.key === key;
  return { data: isOfKey ? answer.data : null, problem: isOfKey ? answer.problem : null, refresh, take };
}
