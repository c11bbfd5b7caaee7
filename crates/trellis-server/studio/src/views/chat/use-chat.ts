/** The messages of a chat as they come, and what somebody is about to say. */

import { useEffect, useState } from "preact/hooks";

import { problemOf, requestKey, type Problem } from "../../api/client";
import { onLive } from "../../api/live";
import { listMessages, say } from "../../api/routes";
import type { ChatMessage } from "../../api/types";
import { announce } from "../../shell/overlays";

/** The time for which a sign that somebody writes counts. */
const WRITES = 6000;

export interface Chat {
  messages: ChatMessage[] | null;
  problem: Problem | null;
  /** Whether an answer is being written. */
  isWriting: boolean;
  /** Why the last message was not taken. */
  refusal: Problem | null;
  isSending: boolean;
  /** Says something; whether it was taken. */
  send: (text: string) => Promise<boolean>;
  refresh: () => void;
}

/** A message that comes once more has the place that it has. */
function joined(before: ChatMessage[] | null, messages: ChatMessage[]): ChatMessage[] {
  const known = new Map((before ?? []).map((message) => [message.id, message]));
  for (const message of messages) known.set(message.id, message);
  return [...known.values()].sort((one, other) => one.at - other.at);
}

export function useChat(thread: string | undefined): Chat {
  const [messages, setMessages] = useState<ChatMessage[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [refusal, setRefusal] = useState<Problem | null>(null);
  const [isSending, setSending] = useState(false);
  const [isWriting, setWriting] = useState(false);
  // A message that the server may have is sent again under its name.
  const [key, setKey] = useState(requestKey);

  const refresh = (): void => {
    listMessages(thread).then(
      ({ items }) => {
        setProblem(null);
        setMessages((before) => joined(before, items));
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };

  useEffect(() => {
    let chat: string | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    void listMessages(thread).then((page) => (chat = page.chat), () => undefined);
    refresh();
    const stop = onLive(({ event, data }) => {
      if (event === "refresh") return refresh();
      const isHere = (data["thread"] ?? undefined) === thread && (chat === undefined || data["chat"] === chat);
      if (!isHere) return;
      if (event === "typing") {
        clearTimeout(timer);
        timer = setTimeout(() => setWriting(false), WRITES);
        setWriting(true);
      }
      if (event === "message") {
        const message = data as unknown as ChatMessage;
        setMessages((before) => joined(before, [message]));
        if (message.from === "agent") {
          setWriting(false);
          announce(message.text, message.call !== undefined);
        }
      }
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [thread]);

  const send = async (text: string): Promise<boolean> => {
    setSending(true);
    setRefusal(null);
    try {
      const message = await say(text, thread, key);
      setMessages((before) => joined(before, [message]));
      setKey(requestKey());
      return true;
    } catch (error) {
      const refused = problemOf(error);
      setRefusal(refused);
      // What was refused was not taken.
      if (refused.status !== 0) setKey(requestKey());
      return false;
    } finally {
      setSending(false);
    }
  };
  return { messages, problem, isWriting, refusal, isSending, send, refresh };
}
