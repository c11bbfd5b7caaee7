/** Texts as their readers see them: what nobody sees, turns the writing, or looks like something else is written out. The terminal shows the same. */

const PICTURE = "\\u203c\\u2049\\u2122\\u2139\\u2190-\\u21ff\\u2300-\\u23ff\\u2600-\\u27bf\\u2934\\u2935\\u2b00-\\u2bff\\u{1f000}-\\u{1faff}";
const MISLEADING =
  "\\x00-\\x08\\x0b-\\x1f\\x7f-\\xa0\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164" +
  "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}" +
  // What strikes out the character before it, and what each font draws as it likes.
  "\\u0334-\\u0338\\u20d2\\u20d3\\u20d8-\\u20da\\u20dd-\\u20e0\\u20e2\\u20e4-\\u20e6\\u20ea\\u20eb\\ue000-\\uf8ff\\ufdd0-\\ufdef\\ufffe\\uffff\\u{f0000}-\\u{10ffff}";
/** What makes one picture of several stays within it. */
const WRITTEN_OUT = new RegExp(`(?!(?<=[${PICTURE}\\ufe0f])\\u200d(?=[${PICTURE}])|(?<=[${PICTURE}])\\ufe0f)[${MISLEADING}]`, "gu");

/** A text in which characters that nobody sees are written as JSON escapes, such as `\u202e`. */
export function visible(text: string): string {
  return text.replace(WRITTEN_OUT, (char) => char.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));
}
