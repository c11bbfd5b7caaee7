/** The graph of what is open, with the extension's ways to ask the program about it. */

import { existsSync } from "node:fs";
import { relative, sep } from "node:path";
import * as vscode from "vscode";
import { nodeAt, nodesIn } from "./drawing.ts";
import { type Ended, findProgram, missingProgram, run, unfit, versionIn } from "./program.ts";
import { graphOf, mayHoldNodes } from "./roots.ts";

/** The program and the graphs of the window. */
export class Graphs implements vscode.Disposable {
  private readonly ended = new AbortController();
  /** The path of the program, once it was found. */
  program: string | undefined;
  readonly log: vscode.LogOutputChannel;

  constructor(log: vscode.LogOutputChannel) {
    this.log = log;
  }

  /** Finds the program, and tells people how to get it, or a newer one, if that is needed. */
  async find(): Promise<string | undefined> {
    const setting = vscode.workspace.getConfiguration("trellis").get<string>("path", "");
    this.program = await findProgram(setting, process.env.PATH ?? "");
    if (this.program === undefined) {
      this.complain(missingProgram(setting));
      return undefined;
    }
    const { stdout } = await this.ask(["--version"], ".").catch(() => ({ stdout: "" }));
    const why = unfit(this.program, versionIn(stdout));
    if (why !== undefined) {
      this.complain(why);
      this.program = undefined;
    }
    return this.program;
  }

  private complain(message: string): void {
    const settings = "Open Settings";
    void vscode.window.showErrorMessage(message, settings).then((chosen) => {
      if (chosen === settings) void vscode.commands.executeCommand("workbench.action.openSettings", "trellis.path");
    });
  }

  /** Runs the program to its end, or to that of the window. */
  ask(args: string[], cwd: string, signal?: AbortSignal): Promise<Ended> {
    if (this.program === undefined) return Promise.reject(new Error("the program `trellis` was not found"));
    this.log.debug(`trellis ${args.join(" ")}`);
    const stopped = signal === undefined ? this.ended.signal : AbortSignal.any([signal, this.ended.signal]);
    return run(this.program, args, cwd, stopped);
  }

  /** Ends what runs. */
  dispose(): void {
    this.ended.abort();
  }

  /** Returns the folder of the graph that a file belongs to. */
  of(uri: vscode.Uri): string | undefined {
    if (uri.scheme !== "file") return undefined;
    const folder = vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath;
    return graphOf(uri.fsPath, folder, existsSync);
  }

  /** Returns the folder of the graph that is worked on: that of the active editor, else of any open one, else one that is chosen. */
  async current(): Promise<string | undefined> {
    const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
    for (const editor of editors) {
      const found = editor && this.of(editor.document.uri);
      if (found !== undefined) return found;
    }
    const marks = await vscode.workspace.findFiles("**/{trellis.yaml,start.md,start.yaml}", "**/{node_modules,.git,_tests}/**", 200);
    const found = [...new Set(marks.map((mark) => this.of(mark)).filter((folder) => folder !== undefined))].sort();
    if (found.length <= 1) {
      if (found.length === 0) void vscode.window.showInformationMessage("There is no graph here. A folder with a `start.md` is one.");
      return found[0];
    }
    const items = found.map((folder) => ({ label: vscode.workspace.asRelativePath(folder), folder }));
    return (await vscode.window.showQuickPick(items, { placeHolder: "Which graph?" }))?.folder;
  }

  /** Returns the node of a graph in which the cursor is, by the files as they are saved. */
  async nodeHere(root: string): Promise<string | undefined> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || this.of(editor.document.uri) !== root || !mayHoldNodes(root, editor.document.uri.fsPath)) return undefined;
    const drawn = await this.ask(["graph", "--format", "json", "."], root).catch(() => undefined);
    if (drawn?.code !== 0) return undefined;
    const path = relative(root, editor.document.uri.fsPath).split(sep).join("/");
    const { line } = editor.selection.active;
    return nodeAt(nodesIn(drawn.stdout).values(), path, line + 1, editor.document.lineAt(line).text);
  }

  /** Runs a command of the program in a terminal, in the folder of a graph. */
  inTerminal(name: string, folder: string, args: string[]): vscode.Terminal | undefined {
    if (this.program === undefined) return undefined;
    const terminal = vscode.window.createTerminal({ name, cwd: folder, shellPath: this.program, shellArgs: args });
    terminal.show();
    return terminal;
  }
}
