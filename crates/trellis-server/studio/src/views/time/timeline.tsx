/** The records of a session, one row each; only those in sight are in the page. */

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { SessionRecord } from "../../api/types";
import { Icon } from "../../ui/icons";
import { Ago, duration } from "../../ui/time";
import type { Records } from "./use-records";
import { wordsOfRecord } from "./words";

const ROW = 28;
const SPARE = 10;

interface Props {
  records: Records;
  /** The record that is looked at; nothing where that is the newest. */
  at: number | null;
  open: (seq: number) => void;
}

function Row({ record, before, seq, isOpen, open }: {
  record: SessionRecord | undefined;
  before: SessionRecord | undefined;
  seq: number;
  isOpen: boolean;
  open: (seq: number) => void;
}): JSX.Element {
  if (record === undefined) {
    return (
      <button type="button" class="record record-blank" onClick={() => open(seq)}>
        <span class="record-seq">{seq}</span>
        <span class="dim">…</span>
      </button>
    );
  }
  const { icon, kind, given, tone } = wordsOfRecord(record);
  const node = record.from ?? record.to ?? "";
  const isSameNode = before !== undefined && (before.from ?? before.to) === node && before.child === record.child;
  return (
    <button
      type="button"
      class={`record ${isOpen ? "is-open" : ""}`}
      aria-current={isOpen ? "true" : undefined}
      onClick={() => open(seq)}
    >
      <span class="record-seq">
        <span class="unseen">Record </span>
        {seq}{" "}
      </span>
      <span class={`record-kind ${tone}`}>
        <Icon name={icon} />
        {kind}{" "}
      </span>
      <span class={`record-node ${isSameNode ? "is-same" : ""}`}>
        {record.child !== undefined && <span class="dim">{record.child} · </span>}
        {node}{" "}
      </span>
      <span class="record-given">{given} </span>
      <span class="record-to dim">{record.to !== undefined && record.to !== node && <>→ {record.to}</>}</span>
      <span class="record-took dim">{before ? duration(record.at - before.at) : ""}</span>
      <span class="record-at dim">
        <Ago at={record.at} />
      </span>
    </button>
  );
}

export function Timeline({ records, at, open }: Props): JSX.Element {
  const scroll = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const isAtEnd = useRef(true);
  const { first, end } = records;
  const count = Math.max(0, end - first);
  const from = Math.max(0, Math.floor(top / ROW) - SPARE);
  const to = Math.min(count, Math.ceil((top + height) / ROW) + SPARE);
  const rows = Array.from({ length: Math.max(0, to - from) }, (_, row) => first + from + row);

  useEffect(() => records.need(first + from - 1, first + to), [first, end, from, to, records]);
  useLayoutEffect(() => {
    const element = scroll.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  // The newest stays in sight for those who look at it; who looks at another record sees that.
  const before = useRef(at);
  useEffect(() => {
    const element = scroll.current;
    const cameBack = at === null && before.current !== null;
    before.current = at;
    if (!element) return;
    if (at === null) {
      if (isAtEnd.current || cameBack) element.scrollTop = element.scrollHeight;
      return;
    }
    const place = (at - first) * ROW;
    if (place < element.scrollTop || place + ROW > element.scrollTop + element.clientHeight) element.scrollTop = place - element.clientHeight / 2;
  }, [at, end, first]);
  const scrolled = (): void => {
    const element = scroll.current;
    if (!element) return;
    isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - ROW;
    setTop(element.scrollTop);
  };
  return (
    <div class="timeline" ref={scroll} onScroll={scrolled} tabIndex={0} role="region" aria-label={`Timeline, ${count} records`}>
      <div class="timeline-rows" style={{ height: `${count * ROW}px` }}>
        <div style={{ transform: `translateY(${from * ROW}px)` }}>
          {rows.map((seq) => (
            <Row key={seq} seq={seq} record={records.at(seq)} before={records.at(seq - 1)} isOpen={at === seq || (at === null && seq === end - 1)} open={open} />
          ))}
        </div>
      </div>
    </div>
  );
}
