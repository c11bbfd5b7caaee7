/** The studio in the browser: of the server that runs for a graph, else of one that is started. */

import { type ChildProcess, spawn } from "node:child_process";
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

/** The servers that this window started, each in a terminal. They end with their terminals, on Ctrl-C, and with the window. */
export class Servers implements vscode.Disposable {
  private readonly servers = new Set<ChildProcess>();

  constructor(private readonly graphs: Graphs) {}

  /** Starts a server, and waits until it says where it is; `undefined` if it ends before. */
  async start(root: string): Promise<Announcement | undefined> {
    if (this.graphs.program === undefined) return undefined;
    const server = spawn(this.graphs.program, ["serve", "."], { cwd: root, stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
    this.servers.add(server);
    const hasEnded = new Promise<undefined>((resolve) => {
      for (const event of ["error", "exit"]) server.once(event, () => resolve(undefined));
    });
    void hasEnded.then(() => this.servers.delete(server));
    vscode.window.createTerminal({ name: "Trellis studio", pty: screenOf(server) }).show(true);
    return Promise.race([hasEnded, announced(root)]);
  }

  dispose(): void {
    for (const server of this.servers) server.kill();
  }
}

/** Returns the screen of a server: what it says is shown, and it ends with its terminal. */
function screenOf(server: ChildProcess): vscode.Pseudoterminal {
  const written = new vscode.EventEmitter<string>();
  const write = (text: unknown) => written.fire(String(text).replaceAll(/\r?\n/g, "\r\n"));
  return {
    onDidWrite: written.event,
    // What was said before there is a screen waits in the pipes.
    open: () => {
      for (const said of [server.stdout, server.stderr]) said?.on("data", write);
      server.on("error", (error) => write(`${String(error)}\n`));
      server.on("exit", () => write("The server has ended.\n"));
    },
    handleInput: (typed) => typed === "\u0003" && server.kill(),
    close: () => server.kill(),
  };
}

/** Waits until a server that was started says where it is. */
async function announced(root: string): Promise<Announcement | undefined> {
  for (const until = Date.now() + PATIENCE; Date.now() < until; await new Promise((next) => setTimeout(next, BETWEEN))) {
    const found = await running(root);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Opens an address of this machine in the browser: where that reaches it by another one, with the fragment that this other one may have lost. */
async function openOutside(address: vscode.Uri): Promise<void> {
  const outside = await vscode.env.asExternalUri(address).then((found) => found, () => address);
  await vscode.env.openExternal(outside.fragment === "" ? outside.with({ fragment: address.fragment }) : address);
}

/** Opens the studio of a graph, at the node where the cursor is. */
export async function openStudio(graphs: Graphs, servers: Servers, root: string): Promise<void> {
  const node = await graphs.nodeHere(root);
  const found = (await running(root)) ?? (await servers.start(root));
  if (found === undefined) void vscode.window.showErrorMessage("`trellis serve` did not start. Its terminal says why.");
  else await openOutside(vscode.Uri.parse(studioAddress(found, node), true));
}
