/** The studio in the browser: of the server that runs for a graph, else of one that is started. */

import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Graphs } from "./graphs.ts";

/** The file in which `trellis serve` says where it is. */
interface Announcement {
  address: string;
  token: string | null;
  pid: number;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns the address of the server that runs for a graph. */
async function running(root: string): Promise<string | undefined> {
  const folder = join(root, ".trellis");
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((name) => /^serve-\d+\.json$/.test(name))) {
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    try {
      const { address, token, pid } = JSON.parse(text) as Announcement;
      if (isAlive(pid)) return token === null ? `${address}/` : `${address}/#${token}`;
    } catch {
      // A server that is just starting or ending.
    }
  }
  return undefined;
}

/** Opens the studio of a graph. */
export async function openStudio(graphs: Graphs, root: string): Promise<void> {
  const address = await running(root);
  if (address === undefined) graphs.inTerminal("Trellis studio", root, ["serve", "--open", "."]);
  else await vscode.env.openExternal(vscode.Uri.parse(address, true));
}
