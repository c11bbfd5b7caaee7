/** The studio in the browser: of the server that runs for a graph, else of one that is started. */

import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import { type Announcement, studioAddress } from "./announced.ts";
import type { Graphs } from "./graphs.ts";

/** How long a server that is started may take until it says where it is, and how long is waited between two looks, in milliseconds. */
const PATIENCE = 30_000;
const BETWEEN = 200;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns what the server that runs for a graph says of itself. */
async function running(root: string): Promise<Announcement | undefined> {
  const folder = join(root, ".trellis");
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((name) => /^serve-\d+\.json$/.test(name))) {
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    try {
      const announced = JSON.parse(text) as Announcement;
      if (isAlive(announced.pid)) return announced;
    } catch {
      // A server that is just starting or ending.
    }
  }
  return undefined;
}

/** Starts a server in a terminal, and waits until it says where it is; `undefined` if it ends before. */
async function started(graphs: Graphs, root: string): Promise<Announcement | undefined> {
  const terminal = graphs.inTerminal("Trellis studio", root, ["serve", "."]);
  const until = Date.now() + PATIENCE;
  while (terminal !== undefined && terminal.exitStatus === undefined && Date.now() < until) {
    const found = await running(root);
    if (found !== undefined) return found;
    await new Promise((next) => setTimeout(next, BETWEEN));
  }
  return undefined;
}

/** Opens the studio of a graph, at the node where the cursor is. */
export async function openStudio(graphs: Graphs, root: string): Promise<void> {
  const node = await graphs.nodeHere(root);
  const announced = (await running(root)) ?? (await started(graphs, root));
  if (announced !== undefined) await vscode.env.openExternal(vscode.Uri.parse(studioAddress(announced, node), true));
}
