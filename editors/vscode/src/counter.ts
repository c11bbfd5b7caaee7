/** The item of the status bar: the counts of the graph that is worked on, as the language server knows it. */

import * as vscode from "vscode";
import { nodesIn } from "./drawing.ts";
import type { Graphs } from "./graphs.ts";
import { Newest } from "./order.ts";
import { type Counts, counted, countsIn } from "./results.ts";
import { mayHoldNodes } from "./roots.ts";

/** Files of graphs. */
const FILES = "**/*.{md,yaml,yml,json}";

/** How long is waited for more changes, in milliseconds. */
const SOON = 300;

/** Asks the language server for something; `undefined` while it does not run. */
export type AskServer = <T>(method: string, params: object) => Promise<T | undefined>;

/** Shows the counts, after each change of a finding, a text or a file. */
export class Counter implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("trellis.counts", vscode.StatusBarAlignment.Left, 10);
  private readonly subscriptions: vscode.Disposable[];
  private readonly newest = new Newest();
  private counting: NodeJS.Timeout | undefined;
  /** What `trellis check` said last of a graph as it is saved. */
  private checked: { root: string; counts: Counts | undefined } | undefined;

  constructor(
    private readonly graphs: Graphs,
    private readonly server: AskServer,
  ) {
    this.item.name = "Trellis";
    this.item.command = "trellis.graph";
    const saved = () => this.soon(true);
    const changed = () => this.soon(false);
    const watcher = vscode.workspace.createFileSystemWatcher(FILES);
    this.subscriptions = [
      this.item,
      watcher,
      watcher.onDidCreate(saved),
      watcher.onDidChange(saved),
      watcher.onDidDelete(saved),
      vscode.workspace.onDidSaveTextDocument(saved),
      vscode.workspace.onDidChangeTextDocument(changed),
      vscode.languages.onDidChangeDiagnostics(changed),
      vscode.window.onDidChangeActiveTextEditor(() => void this.count()),
    ];
  }

  private soon(isSaved: boolean): void {
    if (isSaved) this.checked = undefined;
    clearTimeout(this.counting);
    this.counting = setTimeout(() => void this.count(), SOON);
  }

  /** Returns what `trellis check` counts in a graph as it is saved. */
  private async check(root: string): Promise<Counts | undefined> {
    if (this.checked?.root === root) return this.checked.counts;
    const ended = await this.graphs.ask(["check", "--format", "json", "."], root).catch(() => undefined);
    const counts = ended && countsIn(ended.stdout);
    this.checked = { root, counts };
    return counts;
  }

  /** Returns how many nodes the language server knows of the graph of a file. */
  private async nodes(uri: vscode.Uri): Promise<number | undefined> {
    const drawn = await this.server<{ text: string } | null>("trellis/graph", { uri: uri.toString(), format: "json" }).catch(() => undefined);
    return drawn ? nodesIn(drawn.text).size : undefined;
  }

  /** Returns the findings of a graph that are shown. */
  private found(root: string, severity: vscode.DiagnosticSeverity): number {
    const counts = vscode.languages.getDiagnostics().map(([uri, found]) => {
      const { length } = found.filter((one) => one.source === "trellis" && one.severity === severity);
      return length > 0 && this.graphs.of(uri) === root ? length : 0;
    });
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Returns the counts of a graph: "none" where there is no graph or nobody who counts, `undefined` where they are not to be had. */
  private async counts(root: string | undefined, uri: vscode.Uri | undefined): Promise<Counts | "none" | undefined> {
    if (root === undefined || uri === undefined || this.graphs.program === undefined) return "none";
    const [checked, nodes] = await Promise.all([this.check(root), this.nodes(uri)]);
    const known = nodes ?? checked?.nodes;
    if (known === undefined) return undefined;
    const { Error, Warning } = vscode.DiagnosticSeverity;
    // Reads that are not checked are no findings, unless a setting makes them some: only a check counts them.
    return { nodes: known, errors: this.found(root, Error), warnings: this.found(root, Warning), unchecked: checked?.unchecked ?? 0 };
  }

  /** Counts the graph of the active editor. */
  async count(): Promise<void> {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const root = uri && this.graphs.of(uri);
    await vscode.commands.executeCommand("setContext", "trellis.inGraph", root !== undefined);
    await vscode.commands.executeCommand("setContext", "trellis.inNodes", root !== undefined && mayHoldNodes(root, uri!.fsPath));
    const counts = await this.newest.of(this.counts(root, uri));
    if (counts === "none") this.item.hide();
    if (root === undefined || counts === undefined || counts === "none") return;
    this.item.text = `$(type-hierarchy) ${counted(counts)}`;
    this.item.tooltip = `${vscode.workspace.asRelativePath(root)}: open the graph`;
    this.item.show();
  }

  dispose(): void {
    clearTimeout(this.counting);
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
