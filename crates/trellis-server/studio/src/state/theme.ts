/** Light or dark: as the system says, until somebody chooses. */

import { effect, signal } from "@preact/signals";

const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "trellis-theme";

const kept = THEMES.find((theme) => theme === localStorage.getItem(KEY));

/** What was chosen. */
export const theme = signal<Theme>(kept ?? "system");

effect(() => {
  localStorage.setItem(KEY, theme.value);
  document.documentElement.dataset.theme = theme.value;
});

/** Goes on to the next choice. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}
