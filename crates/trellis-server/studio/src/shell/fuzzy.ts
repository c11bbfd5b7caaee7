/** Names by a few letters of them, in order; one wrong letter is forgiven. */

/** How well `words` fits `name`: less is better, nothing is no fit. */
export function fit(words: string, name: string): number | null {
  const [wanted, text] = [words.toLowerCase(), name.toLowerCase()];
  if (wanted === "") return 0;
  const at = text.indexOf(wanted);
  if (at >= 0) return at + (text.length - wanted.length) / 100;
  const spread = subsequence(wanted, text);
  if (spread !== null) return 50 + spread;
  if (wanted.length < 4) return null;
  // Without one of its letters it may fit.
  for (let missing = 0; missing < wanted.length; missing += 1) {
    const rest = wanted.slice(0, missing) + wanted.slice(missing + 1);
    if (text.includes(rest)) return 100;
  }
  const last = text.split("/").at(-1) ?? text;
  return swapped(wanted).some((other) => last.includes(other)) ? 100 : null;
}

/** How far the letters are apart, if all of them come in order. */
function subsequence(wanted: string, text: string): number | null {
  let [at, gaps] = [-1, 0];
  for (const letter of wanted) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return null;
    gaps += at < 0 ? 0 : next - at - 1;
    at = next;
  }
  return gaps;
}

/** The words with two neighbours swapped. */
function swapped(words: string): string[] {
  return Array.from({ length: words.length - 1 }, (_, at) => words.slice(0, at) + (words[at + 1] ?? "") + (words[at] ?? "") + words.slice(at + 2));
}
