/** The graph of what is open, with the extension's ways to ask the program about it. */

import { existsSync } from "node:fs";
import { join, relative, sep } from "node:path";
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
      if (chosen !== settings) return;
      // The setting is one of the machine where the extension runs.
      const [query, remote] = ["@id:trellis.path", vscode.env.remoteName !== undefined];
      if (remote) void vscode.commands.executeCommand("workbench.action.openRemoteSettings", { query });
      else void vscode.commands.executeCommand("workbench.action.openSettings", query);
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
      if (found.length === 0) void this.offerStart();
      return found[0];
    }
    const items = found.map((folder) => ({ label: vscode.workspace.asRelativePath(folder), folder }));
    return (await vscode.window.showQuickPick(items, { placeHolder: "Which graph?" }))?.folder;
  }

  /** Says that there is no graph, and makes the beginning of one if that is wanted. */
  private async offerStart(): Promise<void> {
    const make = "Create start.md";
    const folders = vscode.workspace.workspaceFolders ?? [];
    const offers = folders.length > 0 && this.program !== undefined ? [make] : [];
    const chosen = await vscode.window.showInformationMessage("There is no graph here. A folder with a `start.md` is one.", ...offers);
    if (chosen !== make) return;
    const folder = folders.length > 1 ? await vscode.window.showWorkspaceFolderPick() : folders[0];
    if (folder !== undefined) await this.makeNode(folder.uri.fsPath, "start");
  }

  /** Makes a node and opens it. */
  async makeNode(root: string, id: string): Promise<void> {
    const ended = await this.ask(["new", "node", id, "--graph", "."], root);
    const made = /^made (.+)$/m.exec(ended.stdout)?.[1];
    if (ended.code !== 0 || made === undefined) void vscode.window.showErrorMessage(ended.stderr.trim());
    else await vscode.window.showTextDocument(vscode.Uri.file(join(root, made)));
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
