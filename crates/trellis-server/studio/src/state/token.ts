/**
 * The token of the server: taken out of the address at once, kept as long as it lives.
 *
 * Any page may link here, with any token. So a token is tried before it is kept, and none takes the place of one that the server knows.
 */

import { signal } from "@preact/signals";

import { address } from "../api/address";

const KEY = "trellis-token";
/** A token that the server made for one run; any other outlives it, so that a closed tab forgets it. */
const RANDOM = /^[0-9a-f]{64}$/;
/** A short page that every token may read, or be refused by its rights. */
const TRIAL = "api/explain/unauthenticated";

/** The token that requests carry. */
export const token = signal<string | null>(null);

/** Whether the server refused the token, or wants one. */
export const isRefused = signal(false);

/** A token, and the view that it opens. */
interface Fragment {
  given: string;
  view: string;
}

/** Reads the part of an address behind `#`, such as `3f9c…`, or `token=3f9c…&/g/shop?node=pay`. */
function read(written: string): Fragment {
  // Editors escape `=` and `&` when they hand an address on.
  const fragment = written.startsWith("token%3D") ? decoded(written) : written;
  const [, given = fragment, view = "/"] = /^token=([^&]+)&(\/.*)$/.exec(fragment) ?? [];
  return { given: decoded(given), view };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether the server knows a token, whatever that may do there. */
async function isKnown(given: string): Promise<boolean> {
  try {
    const { status } = await fetch(address(TRIAL), { headers: { Authorization: `Bearer ${given}` }, cache: "no-store" });
    return status !== 401 && status !== 429;
  } catch {
    return false;
  }
}

/** The token in what somebody typed: an address, or the token itself. */
export function tokenIn(text: string): string {
  const at = text.indexOf("#");
  return at < 0 ? text : read(text.slice(at + 1)).given;
}

/** Takes a token that somebody gave, if the server knows it; returns whether it does. */
export async function takeToken(given: string): Promise<boolean> {
  if (!(await isKnown(given))) return false;
  const [kept, other] = RANDOM.test(given) ? [localStorage, sessionStorage] : [sessionStorage, localStorage];
  kept.setItem(KEY, given);
  other.removeItem(KEY);
  token.value = given;
  isRefused.value = false;
  return true;
}

/** Takes the token out of the address, where one is and the server knows it; else the one that was kept, which also stays where the server knows it. */
export async function takeTokenOfAddress(): Promise<void> {
  const written = location.hash.slice(1);
  const kept = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  if (written === "" || written.startsWith("/")) {
    token.value = kept;
    return;
  }
  const { given, view } = read(written);
  history.replaceState(null, "", `#${view}`);
  const isReplaced = kept === null || kept === given || !(await isKnown(kept));
  if (isReplaced && (await takeToken(given))) return;
  token.value = kept ?? given;
  // Nothing is asked with a token that is not known: too many wrong ones are refused for that alone.
  isRefused.value = kept === null;
}
