/** Plays graphs in terminals, from their starts or from one of their nodes. */

import { devNull } from "node:os";
import * as vscode from "vscode";
import { contextArgs, missingIn } from "./context.ts";
import type { Graphs } from "./graphs.ts";

/** How long a start may take that is only tried, in milliseconds: what takes longer was not refused. */
const TRIED = 3000;

/** The exit code of a start that was refused. */
const REFUSED = 2;

/** Plays graphs, and remembers what people gave for missing keys. */
export class Player {
  /** What was typed last, by graph and path. */
  private readonly typed = new Map<string, string>();

  constructor(private readonly graphs: Graphs) {}

  /** Plays a graph in a terminal from its start; each save is taken up. */
  async play(): Promise<void> {
    const root = await this.graphs.current();
    if (root !== undefined) this.graphs.inTerminal("Trellis", root, ["run", "--watch", "."]);
  }

  /** Plays a graph in a terminal from the node where the cursor is. */
  async playHere(): Promise<void> {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const root = uri && this.graphs.of(uri);
    const node = root && (await this.graphs.nodeHere(root));
    if (uri !== undefined && node !== undefined) await this.playNode(uri.toString(), node);
    else void vscode.window.showInformationMessage("There is no node at the cursor that can be played, as the graph is saved.");
  }

  /** Plays a graph in a terminal from one of its nodes. What earlier nodes would have saved is asked for. */
  async playNode(uri: string, node: string): Promise<void> {
    const root = this.graphs.of(vscode.Uri.parse(uri));
    const context = root && (await this.context(root, node));
    if (root !== undefined && context !== undefined) this.graphs.inTerminal("Trellis", root, ["run", "--watch", "--at", node, ...context, "."]);
  }

  /** Returns the arguments for a context with which a node can begin; `undefined` if nobody gives one. */
  private async context(root: string, node: string): Promise<string[] | undefined> {
    const given = new Map<string, string>();
    for (;;) {
      const context = contextArgs(given);
      const refusal = await this.refusal(root, node, context);
      if (refusal === undefined) return context;
      const missing = missingIn(refusal).filter((path) => !given.has(path));
      if (missing.length === 0) {
        void vscode.window.showErrorMessage(refusal.trim());
        return undefined;
      }
      for (const path of missing) {
        const typed = await this.ask(root, node, path);
        if (typed === undefined) return undefined;
        given.set(path, typed);
      }
    }
  }

  /** Asks for the value of a path. */
  private async ask(root: string, node: string, path: string): Promise<string | undefined> {
    const key = `${root}\n${path}`;
    const prompt = `\`${node}\` reads \`${path}\`, which an earlier node saves. Its value here: JSON, or else text`;
    const typed = await vscode.window.showInputBox({ prompt, value: this.typed.get(key), ignoreFocusOut: true });
    if (typed !== undefined) this.typed.set(key, typed);
    return typed;
  }

  /** Returns why a node cannot begin with a context. It is tried without input, and no call is carried out, since the recording is empty. */
  private async refusal(root: string, node: string, context: string[]): Promise<string | undefined> {
    // A terminal asks for trust itself.
    if (!vscode.workspace.isTrusted) return undefined;
    const args = ["run", "--at", node, ...context, "--no-input", "--store", "memory", "--replay-tools", devNull, "."];
    const ended = await this.graphs.ask(args, root, AbortSignal.timeout(TRIED)).catch(() => undefined);
    return ended?.code === REFUSED ? ended.stderr : undefined;
  }
}
