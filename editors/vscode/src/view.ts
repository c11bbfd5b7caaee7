/** The view of a graph beside its files: a click opens a node or a module, the node of the cursor is lit, nodes with findings are marked. */

import { randomBytes } from "node:crypto";
import { join, relative, sep } from "node:path";
import * as vscode from "vscode";
import { type DrawnNode, type Drawing, drawingOf, nodeAt, nodesIn, page } from "./drawing.ts";
import type { Graphs } from "./graphs.ts";
import { ChosenModules } from "./modules.ts";
import { Newest } from "./order.ts";

/** What the page tells: that a node is chosen, that a module is opened or closed, or that it can show something. */
type Told = { open: string } | { module: string; isOpen: boolean } | { ready: true };

/** One panel for each graph. */
export class GraphViews implements vscode.Disposable {
  private readonly views = new Map<string, GraphView>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly graphs: Graphs) {
    const lit = () => this.views.forEach((view) => view.light());
    this.subscriptions = [
      vscode.workspace.onDidSaveTextDocument((document) => this.saved(document)),
      vscode.window.onDidChangeTextEditorSelection(lit),
      vscode.languages.onDidChangeDiagnostics(lit),
    ];
  }

  /** Opens the view of a graph, or shows the one that is open. */
  async open(root: string): Promise<void> {
    const view = this.views.get(root) ?? new GraphView(this.graphs, root, () => this.views.delete(root));
    this.views.set(root, view);
    await view.draw();
    view.panel.reveal(undefined, true);
  }

  private saved(document: vscode.TextDocument): void {
    const root = this.graphs.of(document.uri);
    void (root && this.views.get(root)?.draw());
  }

  dispose(): void {
    for (const view of this.views.values()) view.panel.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

class GraphView {
  readonly panel: vscode.WebviewPanel;
  private nodes = new Map<string, DrawnNode>();
  private here: string | undefined;
  /** The drawing that is shown, and why there is none of the graph as it is saved. */
  private drawing: Drawing | undefined;
  private reason = "";
  private readonly modules = new ChosenModules();
  private readonly newest = new Newest();

  constructor(
    private readonly graphs: Graphs,
    private readonly root: string,
    gone: () => void,
  ) {
    const title = `Graph ${vscode.workspace.asRelativePath(root)}`;
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.panel = vscode.window.createWebviewPanel("trellis.graph", title, beside, { enableScripts: true, localResourceRoots: [] });
    this.panel.onDidDispose(gone);
    this.panel.webview.onDidReceiveMessage((message: Told) => this.hear(message));
    this.panel.webview.html = page(randomBytes(16).toString("hex"));
  }

  private hear(message: Told): void {
    if ("open" in message) void this.openNode(message.open);
    else if ("module" in message) {
      this.modules.choose(message.module, message.isOpen);
      void this.draw();
    } else this.show();
  }

  /** Draws the graph as it is saved. */
  async draw(): Promise<void> {
    const drawn = await this.newest.of(this.drawn());
    if (drawn === undefined) return;
    this.reason = typeof drawn === "string" ? drawn : "";
    if (typeof drawn !== "string") {
      this.nodes = drawn.nodes;
      this.drawing = drawingOf(drawn.svg, drawn.nodes.keys());
    }
    this.show();
  }

  /** Returns the picture of the graph with its nodes, or the reason why there is none. */
  private async drawn(): Promise<{ svg: string; nodes: Map<string, DrawnNode> } | string> {
    const ask = (...args: string[]) => this.graphs.ask(["graph", "--format", ...args, "."], this.root);
    try {
      const [svg, list] = await Promise.all([ask("svg", ...this.modules.args()), ask("json")]);
      if (svg.code !== 0 || list.code !== 0) return svg.stderr || list.stderr || "`trellis graph` failed";
      return { svg: svg.stdout, nodes: nodesIn(list.stdout) };
    } catch (error) {
      return String(error);
    }
  }

  /** Tells the page all that it shows: one that was hidden begins anew. */
  private show(): void {
    void this.panel.webview.postMessage({ ...this.drawing, reason: this.reason });
    this.light();
  }

  /** Lights the node of the cursor, and marks those with findings. */
  light(): void {
    if (this.drawing === undefined) return;
    const editor = vscode.window.activeTextEditor;
    const line = editor?.selection.active.line ?? 0;
    const here = editor && nodeAt(this.nodes.values(), this.path(editor.document.uri), line + 1, editor.document.lineAt(line).text);
    this.here = here ?? this.here;
    const found = new Map<vscode.DiagnosticSeverity, string[]>();
    for (const [uri, list] of vscode.languages.getDiagnostics()) {
      const path = this.path(uri);
      for (const { source, severity, range } of list) {
        const node = source === "trellis" ? nodeAt(this.nodes.values(), path, range.start.line + 1) : undefined;
        if (node !== undefined) found.set(severity, [...(found.get(severity) ?? []), node]);
      }
    }
    const errors = found.get(vscode.DiagnosticSeverity.Error) ?? [];
    const warnings = found.get(vscode.DiagnosticSeverity.Warning) ?? [];
    void this.panel.webview.postMessage({ here: this.here ?? "", errors, warnings });
  }

  private path(uri: vscode.Uri): string {
    return relative(this.root, uri.fsPath).split(sep).join("/");
  }

  private async openNode(id: string): Promise<void> {
    const node = this.nodes.get(id);
    if (node?.path == null) return;
    const start = new vscode.Position(Math.max(0, (node.line ?? 1) - 1), 0);
    const uri = vscode.Uri.file(join(this.root, node.path));
    await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.One, selection: new vscode.Range(start, start) });
  }
}
