/** A chat with the agent. Calls that wait for a decision are decided where they are asked about. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { problemOf, type Problem } from "../../api/client";
import { decide } from "../../api/routes";
import type { ChatMessage, HeldCall } from "../../api/types";
import { announce } from "../../shell/overlays";
import { approvals } from "../../state/graphs";
import { Html } from "../../ui/html";
import { isField } from "../../ui/keys";
import { Empty, Failed, Loading } from "../../ui/states";
import { Ago } from "../../ui/time";
import { Decision } from "../session/approval";
import { useChat } from "./use-chat";

/** What is typed stays while another view is open. */
const draft = signal("");

function Held({ held, isNewest }: { held: HeldCall; isNewest: boolean }): JSX.Element {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isSent, setSent] = useState(false);
  const send = async (decision: "approve" | "deny", because?: string): Promise<void> => {
    setSent(true);
    setProblem(null);
    try {
      await decide(held.session, held.call.id, decision, because);
      approvals.value = (approvals.value ?? []).filter((other) => other.call.id !== held.call.id);
      announce(`${decision === "approve" ? "Approved" : "Denied"}: ${held.call.name}`);
    } catch (error) {
      setProblem(problemOf(error));
      setSent(false);
    }
  };
  return (
    <div class="card chat-held">
      <Decision
        question={{ id: held.call.id, name: held.call.name, args: held.call.args, ...(held.ask === null ? {} : { ask: held.ask }) }}
        part={held.call.part}
        notes={held.why?.notes ?? []}
        isSent={isSent}
        hasKeys={isNewest}
        decide={(decision, because) => void send(decision, because)}
      />
      {problem && <Failed problem={problem} />}
    </div>
  );
}

function Message({ message, held, isNewest }: { message: ChatMessage; held: HeldCall | undefined; isNewest: boolean }): JSX.Element {
  if (message.from === "person") {
    return (
      <article class="chat-said chat-mine">
        <p class="answer">{message.text}</p>
        <p class="chat-at dim">
          You · <Ago at={message.at} />
        </p>
      </article>
    );
  }
  return (
    <article class="chat-said">
      <p class="chat-at dim">
        {message.from === "schedule" ? "Schedule" : "Agent"} · <Ago at={message.at} />
      </p>
      {held ? null : message.html === undefined ? <p class="chat-plain">{message.text}</p> : <Html class="said" html={message.html} />}
      {held && <Held held={held} isNewest={isNewest} />}
    </article>
  );
}

export function ChatView({ thread }: { thread: string | undefined }): JSX.Element {
  const { messages, problem, isWriting, refusal, isSending, send, refresh } = useChat(thread);
  const scroll = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const held = approvals.value ?? [];
  const open = (messages ?? []).flatMap(({ call }) => held.filter((other) => other.call.id === call));
  const newest = open.at(-1)?.call.id;

  useEffect(() => {
    if (!isField(document.activeElement)) field.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    scroll.current?.scrollTo({ top: scroll.current.scrollHeight });
  }, [messages?.length, newest, isWriting]);

  const submit = async (): Promise<void> => {
    const text = draft.value;
    if (text.trim() === "" || isSending) return;
    if (await send(text)) draft.value = "";
    field.current?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void submit();
  };
  const rows = Math.min(10, Math.max(1, draft.value.split("\n").length));
  return (
    <main class="chat-view">
      <h1 class={thread === undefined ? "unseen" : "chat-thread"}>{thread === undefined ? "Chat" : `Chat: ${thread}`}</h1>
      <div class="chat-scroll" ref={scroll} tabIndex={0} role="region" aria-label="What was said">
        {messages === null && (problem ? <Failed problem={problem} again={refresh} /> : <Loading />)}
        {messages?.length === 0 && (
          <Empty title="Say something">
            <p>
              The agent answers here. <code>/help</code> lists its commands.
            </p>
          </Empty>
        )}
        <div class="chat-log">
          {messages?.map((message) => {
            const call = held.find((other) => other.call.id === message.call);
            return <Message message={message} held={call} isNewest={call !== undefined && call.call.id === newest} key={message.id} />;
          })}
          {isWriting && (
            <p class="chat-writing dim" role="status">
              <span class="dots" aria-hidden="true">
                <span />
                <span />
                <span />
              </span>
              The agent is writing
            </p>
          )}
        </div>
      </div>
      <form
        class="chat-ask"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {refusal && <Failed problem={refusal} />}
        <div class="ask-row">
          <textarea
            class="ask-field"
            aria-label="Message"
            placeholder="Message, or /help"
            ref={field}
            rows={rows}
            value={draft}
            onInput={(event) => (draft.value = event.currentTarget.value)}
            onKeyDown={press}
          />
          <button type="submit" class="button primary" disabled={isSending}>
            Send
          </button>
        </div>
      </form>
    </main>
  );
}
