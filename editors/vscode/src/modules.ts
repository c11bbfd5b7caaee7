/** The modules of a drawing that are one box each. */

/** Returns the modules among nodes: the folders with a `start`. */
export function modulesOf(ids: Iterable<string>): string[] {
  return [...ids].filter((id) => id.endsWith("/start")).map((id) => id.slice(0, -"/start".length));
}

/** The modules that people opened and closed, over those with which the program begins. */
export class ChosenModules {
  private readonly opened = new Set<string>();
  private readonly closed = new Set<string>();

  /** Opens a module, or closes it. */
  choose(module: string, isOpen: boolean): void {
    const [wanted, other] = isOpen ? [this.opened, this.closed] : [this.closed, this.opened];
    // What is as the program has it needs no word.
    if (!other.delete(module)) wanted.add(module);
  }

  /** Returns the arguments of `trellis graph` that say so. */
  args(): string[] {
    const named = (option: string, modules: Set<string>) => (modules.size > 0 ? [`--${option}=${[...modules].join(",")}`] : []);
    return [...named("collapsed", this.closed), ...named("expanded", this.opened)];
  }
}
