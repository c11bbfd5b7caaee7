/** Keys that belong to what is in sight, while nobody types. */

import { useLayoutEffect, useRef } from "preact/hooks";

/** Whether an element takes what is typed. */
export function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

/** Gives plain keys to `handle` while no field and no dialog has the focus; it says whether it took one. Escape leaves a field, so that keys are heard. */
export function useKeys(handle: (key: string) => boolean): void {
  const latest = useRef(handle);
  latest.current = handle;
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (isField(event.target)) {
        if (event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
        return;
      }
      if (latest.current(event.key)) event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
