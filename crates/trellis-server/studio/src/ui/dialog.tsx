/** A question over the page. It has the focus while it is there, and gives it back. */

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({ title, close, children, class: className = "" }: {
  title: string;
  close: () => void;
  children: ComponentChildren;
  class?: string;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${className}`}
      aria-label={title}
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
