/** Bars that say what is wrong with the connection, and the page that asks for a token. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { tryAgain } from "../api/live";
import { connection } from "../state/connection";
import { takeToken, token, tokenIn } from "../state/token";
import { isOutdated } from "../state/version";
import { clock } from "../ui/time";

/** Says that the server does not answer, and when it is asked again. */
export function ConnectionBar(): JSX.Element | null {
  const now = connection.value;
  if (now.state === "connected") return null;
  const left = Math.max(1, Math.ceil((now.retryAt - clock.value) / 1000));
  return (
    <div class="bar bar-lost" role="status">
      <span>Connection lost, trying again in {left} s. What you see is from before; what you typed stays.</span>
      <button type="button" class="button" onClick={tryAgain}>
        Try now
      </button>
    </div>
  );
}

/** Says that the server was begun anew from another program, whose page may differ from this one. */
export function VersionBar(): JSX.Element | null {
  if (!isOutdated.value) return null;
  return (
    <div class="bar" role="status">
      <span>The server has another version of this page. Send what you typed before you reload it.</span>
      <button type="button" class="button" onClick={() => location.reload()}>
        Reload this page
      </button>
    </div>
  );
}

/** Asks for the token, and says where it is. */
export function TokenPage(): JSX.Element {
  const typed = useSignal("");
  const isUnknown = useSignal(token.value !== null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const given = tokenIn(typed.value.trim());
    if (given !== "") isUnknown.value = !(await takeToken(given));
  };
  return (
    <main class="token-page">
      <form class="card token-card" onSubmit={submit}>
        <h1>This server wants its token</h1>
        <p>
          {isUnknown.value ? "The token of this page is not known there, perhaps because the server began anew. " : ""}
          Where <code>trellis serve</code> or <code>trellis up</code> runs, it printed an address. The token stands behind its <code>#</code>. Open that address, or paste it here.
        </p>
        <label class="field">
          <span>Token or address</span>
          <input type="password" autocomplete="off" autofocus value={typed} onInput={(event) => (typed.value = event.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary">
          Open the studio
        </button>
      </form>
    </main>
  );
}
