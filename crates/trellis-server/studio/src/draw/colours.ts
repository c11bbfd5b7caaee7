/** The colours of the page, for the canvas, which knows no custom properties. */

export type Colours = Record<"ground" | "panel" | "ink" | "dim" | "line" | "edge" | "accent" | "here" | "failed" | "running", string>;

/** The colours as they are now; read again when the theme changes. */
export function coloursOf(element: HTMLElement): Colours {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours: Colours = {
    ground: read("ground"),
    panel: read("panel"),
    ink: read("ink"),
    dim: read("dim"),
    line: read("line"),
    edge: read("edge"),
    accent: read("accent"),
    here: read("here"),
    failed: read("failed"),
    running: read("running"),
  };
  probe.remove();
  return colours;
}
