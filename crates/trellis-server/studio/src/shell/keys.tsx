/** Keys of the whole page, and the list of all keys. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";

import { listSessions } from "../api/routes";
import type { Head } from "../api/types";
import { approvals, currentGraph, hasChat, hasState } from "../state/graphs";
import { open } from "../state/route";
import { Dialog } from "../ui/dialog";
import { useKeys } from "../ui/keys";
import { announce, beginning, isKeysShown, isPaletteShown } from "./overlays";

const KEYS: [string, [string, string][]][] = [
  [
    "Everywhere",
    [
      ["Ctrl K", "search nodes, sessions, findings, commands"],
      ["g g", "the graph"],
      ["g s", "sessions"],
      ["g p", "problems"],
      ["g a", "approvals"],
      ["g d", "dead letters"],
      ["g c", "the chat, where an agent runs"],
      ["g o", "the dashboard, where an agent runs"],
      ["Tab", "in the search: show it beside"],
      ["n", "new session"],
      [".", "what waits for me"],
      ["?", "this list"],
      ["Esc", "leave a field, close"],
    ],
  ],
  [
    "Drawing",
    [
      ["f", "fit"],
      ["+ − 0", "zoom in, out, natural size"],
      ["arrows", "pan"],
      ["Tab", "along the edges"],
      ["Enter", "open the node"],
      ["c", "fold the module of the node"],
    ],
  ],
  [
    "Session",
    [
      ["1 … 9", "choose an option"],
      ["A A, D D", "approve, deny"],
      ["[ ]", "a record back, a record on"],
      ["Home End", "the first record, now"],
    ],
  ],
];

/** Opens what waits for somebody: a held call first, then a question. */
export function openWaiting(): void {
  const held = approvals.value?.[0];
  if (held) return open({ view: "session", session: held.session });
  const openFirst = ({ items: [first] }: { items: Head[] }): void =>
    first ? open({ view: "session", session: first.session }) : announce("Nothing waits for you");
  return void listSessions({ standing: "waiting_for_input", limit: 1 }).then(openFirst, () => announce("The server does not answer", true));
}

/** Whether a key is one of the page's; `first` is the key that was pressed just before. */
function press(first: string, key: string): boolean {
  const graph = currentGraph.value?.name;
  if (first === "g") {
    if (key === "s") open({ view: "sessions" });
    else if (key === "a") open({ view: "approvals" });
    else if (key === "d") open({ view: "dead" });
    else if (key === "c" && hasChat.value) open({ view: "chat" });
    else if (key === "o" && hasState.value) open({ view: "dashboard" });
    else if (key === "g" && graph !== undefined) open({ view: "graph", graph });
    else if (key === "p" && graph !== undefined) open({ view: "problems", graph });
    else return false;
    return true;
  }
  if (key === "n" && graph !== undefined) beginning.value = { graph };
  else if (key === ".") openWaiting();
  else if (key === "?") isKeysShown.value = true;
  else return key === "g";
  return true;
}

/** The time in which a second key belongs to the first. */
const PAIR = 1000;

export function Keys(): JSX.Element | null {
  const before = useRef({ key: "", at: 0 });
  useKeys((key) => {
    const first = Date.now() - before.current.at < PAIR ? before.current.key : "";
    before.current = { key: first === "g" ? "" : key, at: Date.now() };
    return press(first, key);
  });
  if (!isKeysShown.value) return null;
  const close = (): void => {
    isKeysShown.value = false;
  };
  return (
    <Dialog title="All keys" class="keys-dialog" close={close}>
      <h2>All keys</h2>
      <div class="keys-columns">
        {KEYS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, what]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="row end">
        <button type="button" class="button" onClick={close} autofocus>
          Close
        </button>
      </p>
    </Dialog>
  );
}

/** Opens the palette by its keys, also from a field. */
export function listenForPalette(): void {
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      isPaletteShown.value = !isPaletteShown.value;
    }
  });
}
