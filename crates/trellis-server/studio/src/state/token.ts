/** The token of the server: taken out of the address at once, kept as long as it lives. */

import { signal } from "@preact/signals";

const KEY = "trellis-token";
/** A token that the server made for one run; any other outlives it, so that a closed tab forgets it. */
const RANDOM = /^[0-9a-f]{64}$/;

/** The token that requests carry. */
export const token = signal<string | null>(null);

/** Whether the server refused the token, or wants one. */
export const isRefused = signal(false);

/** Takes a token that somebody gave. */
export function takeToken(given: string): void {
  const [kept, other] = RANDOM.test(given) ? [localStorage, sessionStorage] : [sessionStorage, localStorage];
  kept.setItem(KEY, given);
  other.removeItem(KEY);
  token.value = given;
  isRefused.value = false;
}

/** Takes the token out of an address such as `/#3f9c…`, or `/#token=3f9c…&/g/shop?node=pay` of which the view is kept; else the one that was kept. */
export function takeTokenOfAddress(): void {
  const written = location.hash.slice(1);
  // Editors escape `=` and `&` when they hand an address on.
  const fragment = written.startsWith("token%3D") ? decodeURIComponent(written) : written;
  const [, given = fragment, view = "/"] = /^token=([^&]+)&(\/.*)$/.exec(fragment) ?? [];
  if (given !== "" && !given.startsWith("/")) {
    history.replaceState(null, "", `#${view}`);
    takeToken(decodeURIComponent(given));
  } else {
    token.value = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  }
}
