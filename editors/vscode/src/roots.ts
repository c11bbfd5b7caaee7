/** The graph that a file belongs to, by the rules of the language server: a folder is a graph if it has a `trellis.yaml` or a `start`. */

import { dirname, isAbsolute, join, relative, sep } from "node:path";

/** The files that make a folder a graph. */
const MARKS = ["trellis.yaml", "trellis.yml", "start.md", "start.yaml", "start.yml", "start.json"];

/** Returns the folders from `top` down to `folder`; `folder` alone if it is not below `top`. */
function down(top: string, folder: string): string[] {
  const below = relative(top, folder);
  if (below === "") return [top];
  if (below.startsWith("..")) return [folder];
  const parts = below.split(sep);
  return [top, ...parts.map((_, at) => join(top, ...parts.slice(0, at + 1)))];
}

/**
 * Returns the folder of the outermost graph that holds a file: below the workspace folder if it is given,
 * else the topmost of the unbroken chain of such folders above the file. `undefined` for a file outside of any graph.
 */
export function graphOf(file: string, workspace: string | undefined, exists: (path: string) => boolean): string | undefined {
  const isGraph = (folder: string) => MARKS.some((mark) => exists(join(folder, mark)));
  const folder = dirname(file);
  if (workspace !== undefined) return down(workspace, folder).find(isGraph);
  let found: string | undefined;
  for (let at = folder; isGraph(at); at = dirname(at)) {
    found = at;
    if (dirname(at) === at) break;
  }
  return found;
}

/** Returns the folder of the graph whose test a sheet is, the one above its `_tests`. */
export function graphOfSheet(sheet: string): string | undefined {
  const parts = dirname(sheet).split(sep);
  const at = parts.indexOf("_tests");
  return at > 0 ? parts.slice(0, at).join(sep) : undefined;
}

/** Returns the beginning of the id of a node beside a file: its folder, or the last above it that may hold nodes. */
export function placeBeside(root: string, file: string): string {
  const parts = relative(root, dirname(file)).split(sep);
  const hidden = parts.findIndex((part) => /^([_.]|$)/.test(part));
  const held = hidden === -1 ? parts : parts.slice(0, hidden);
  return held.map((part) => `${part}/`).join("");
}

/** Returns whether a file of a graph may hold nodes: sheets, settings and what begins with `_` do not. */
export function mayHoldNodes(root: string, file: string): boolean {
  const below = relative(root, file);
  const isInside = below !== "" && !below.startsWith("..") && !isAbsolute(below);
  const isSetting = /(^|[\\/])trellis\.ya?ml$/.test(below);
  return isInside && !isSetting && /\.(md|ya?ml|json)$/.test(below) && !below.split(sep).some((part) => part.startsWith("_"));
}
