/** A session as it goes: where it stands, what was said meanwhile, what its running calls tell. */

import { useEffect, useRef, useState } from "preact/hooks";

import { type Problem, problemOf, requestKey } from "../../api/client";
import { onLive, watchSession } from "../../api/live";
import { decide as decideCall, getTurn, pause, reply as sendReply, resume } from "../../api/routes";
import type { Reply, Turn } from "../../api/types";
import { announce } from "../../shell/overlays";
import { graphOfSession } from "../../state/graphs";
import { useResource } from "../../state/resource";
import { follow, isQuestion, isUrgent, newsOf, type Talk, textOf } from "./exchanges";
import type { Walk } from "./here";

export interface WalkedSession extends Walk {
  turn: Turn | null;
  problem: Problem | null;
  refresh: () => void;
  take: (turn: Turn) => void;
}

export function useSession(id: string): WalkedSession {
  // An edit of the graph may change what is asked, without a record.
  const resource = useResource(id, () => getTurn(id), ({ event, data }) =>
    event === "graph" ? data.graph === graphOfSession.peek() : data.session === id && ["turn", "session", "removed"].includes(event),
  );
  const [shown, setShown] = useState<Talk | null>(null);
  const [progress, setProgress] = useState<Map<string, string>>(new Map());
  /** The question whose answer is on its way. */
  const [sending, setSending] = useState<number | null>(null);
  const [refusal, setRefusal] = useState<WalkedSession["refusal"]>(null);
  const answer = useRef<string | null>(null);
  const key = useRef<{ body: string; key: string } | null>(null);
  const { data } = resource;
  const newest = useRef(0);
  newest.current = shown?.turn.seq ?? 0;

  // A turn that comes after another one puts that into the log.
  useEffect(() => {
    if (data === null) return;
    setShown((before) => {
      const after = follow(before, data, answer.current);
      if (before !== null && after.turn.seq !== before.turn.seq) {
        announce(textOf(newsOf(before.turn, data)), isUrgent(data));
        answer.current = null;
      }
      return after;
    });
    graphOfSession.value = data.graph;
  }, [data]);

  useEffect(() => {
    setRefusal(null);
    setProgress(new Map());
  }, [id]);

  const isKnown = data !== null;
  useEffect(() => (isKnown ? watchSession(id) : undefined), [id, isKnown]);
  useEffect(
    () =>
      onLive(({ event, data: line }) => {
        if (event !== "line" || line.session !== id || typeof line.payload !== "object" || line.payload === null || Array.isArray(line.payload)) return;
        const { id: call, text, reset } = line.payload;
        if (typeof call !== "string" || typeof text !== "string") return;
        const glue = line.type === "PROGRESS" ? "\n" : "";
        setProgress((before) => new Map(before).set(call, `${reset === true ? "" : (before.get(call) ?? "")}${text}${glue}`.slice(-8000)));
      }),
    [id],
  );

  /** Does something that ends in a turn; `words` is what the log shows of it. */
  const deliver = async (perform: () => Promise<Turn>, words: string, seq: number): Promise<boolean> => {
    setSending(seq);
    setRefusal(null);
    answer.current = words;
    try {
      const turn = await perform();
      // The stream may have told what came of it, and somebody may have answered that.
      if (turn.seq >= newest.current) resource.take(turn);
      key.current = null;
      return true;
    } catch (error) {
      answer.current = null;
      // The stream may have brought what came instead.
      setShown((before) => before && { ...before, log: before.log.map((one) => (one.seq === seq && one.answer === words ? { ...one, answer: null } : one)) });
      const problem = problemOf(error);
      if (problem.status !== 0) key.current = null;
      setRefusal({ problem, seq });
      if (problem.status === 412 || problem.status === 409) resource.refresh();
      return false;
    } finally {
      setSending((other) => (other === seq ? null : other));
    }
  };
  const send = async (body: Reply, words: string): Promise<boolean> => {
    const turn = shown?.turn;
    if (!turn) return false;
    // The same reply, sent again after a lost answer, is done once.
    const text = JSON.stringify([turn.seq, body]);
    if (key.current?.body !== text) key.current = { body: text, key: requestKey() };
    const name = key.current.key;
    return deliver(() => sendReply(id, body, isQuestion(body) ? turn.seq : undefined, name), words, turn.seq);
  };
  const decide = (call: string, decision: "approve" | "deny", because?: string): Promise<boolean> =>
    deliver(() => decideCall(id, call, decision, because), `${decision === "approve" ? "Approved" : "Denied"}${because ? `: ${because}` : ""}`, shown?.turn.seq ?? 0);

  const isCurrent = shown !== null && shown.turn.session === id;
  const take = (turn: Turn): void => {
    // Time went back or aside: what was said belongs to another course.
    setShown({ turn, log: [] });
    resource.take(turn);
  };
  return {
    turn: isCurrent ? shown.turn : null,
    problem: resource.problem,
    refresh: resource.refresh,
    take,
    log: isCurrent ? shown.log : [],
    progress,
    isSending: isCurrent && sending !== null && shown.turn.seq <= sending,
    refusal,
    send,
    decide,
    halt: { stop: () => void pause(id).then(take), goOn: () => void resume(id).then(take) },
  };
}
