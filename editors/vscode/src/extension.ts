/** Trellis in VS Code: the language server, the drawing, tests, and commands that run the program `trellis`. */

import { join } from "node:path";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";
import { Graphs } from "./graphs.ts";
import { Newest, OneAtATime } from "./order.ts";
import { type Counts, counted, countsIn } from "./results.ts";
import { mayHoldNodes, placeBeside } from "./roots.ts";
import { Servers, openStudio } from "./studio.ts";
import { Sheets } from "./testing.ts";
import { GraphViews } from "./view.ts";

/** Files of graphs keep their languages: which of them it serves is the server's choice. */
const SELECTOR = ["markdown", "yaml", "json"].flatMap((language) => [
  { scheme: "file", language },
  { scheme: "untitled", language },
]);

/** The settings because of which the server is started again; it asks for the others itself. */
const SERVER_SETTINGS = ["trellis.path", "trellis.codeLens"];

/** The commands that code lenses use, by what they do. Cases have their own signs in the margin. */
const LENSES = { play: "trellis.playNode", references: "trellis.references" };

let client: LanguageClient | undefined;

/** Starts the language server, in the place of one that runs. */
async function restart(graphs: Graphs): Promise<void> {
  const before = client;
  client = undefined;
  await before?.dispose().catch((error: unknown) => graphs.log.warn(String(error)));
  const command = await graphs.find();
  if (command === undefined) return;
  const settings = vscode.workspace.getConfiguration("trellis");
  const roots = settings.get<string[]>("roots", []);
  const options: LanguageClientOptions = {
    documentSelector: SELECTOR,
    outputChannel: graphs.log,
    initializationOptions: {
      ...(roots.length > 0 && { roots }),
      strict: settings.get<boolean>("strict", false),
      inlayHints: settings.get("inlayHints", {}),
      ...(settings.get<boolean>("codeLens", true) && { commands: LENSES }),
    },
  };
  client = new LanguageClient("trellis", "Trellis", { command, args: ["lsp"] }, options);
  await client.start().catch((error: unknown) => vscode.window.showErrorMessage(`The language server did not start: ${String(error)}`));
}

/** Shows the counts of the graph that is worked on, after each save. */
class Counter implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("trellis.counts", vscode.StatusBarAlignment.Left, 10);
  private readonly subscriptions: vscode.Disposable[];
  private readonly newest = new Newest();

  constructor(private readonly graphs: Graphs) {
    this.item.name = "Trellis";
    this.item.command = "trellis.graph";
    const count = () => void this.count();
    this.subscriptions = [this.item, vscode.workspace.onDidSaveTextDocument(count), vscode.window.onDidChangeActiveTextEditor(count)];
  }

  /** Returns the counts of a graph: "none" where there is no graph or nobody who counts, `undefined` where they are not to be had. */
  private async counts(root: string | undefined): Promise<Counts | "none" | undefined> {
    if (root === undefined || this.graphs.program === undefined) return "none";
    const checked = await this.graphs.ask(["check", "--format", "json", "."], root).catch(() => undefined);
    return checked && countsIn(checked.stdout);
  }

  /** Counts the graph of the active editor. */
  async count(): Promise<void> {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const root = uri && this.graphs.of(uri);
    await vscode.commands.executeCommand("setContext", "trellis.inGraph", root !== undefined);
    await vscode.commands.executeCommand("setContext", "trellis.inNodes", root !== undefined && mayHoldNodes(root, uri!.fsPath));
    const counts = await this.newest.of(this.counts(root));
    if (counts === "none") this.item.hide();
    if (root === undefined || counts === undefined || counts === "none") return;
    this.item.text = `$(type-hierarchy) ${counted(counts)}`;
    this.item.tooltip = `${vscode.workspace.asRelativePath(root)}: open the graph`;
    this.item.show();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

/** Returns the code of the finding at the cursor. */
function codeHere(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return undefined;
  const found = vscode.languages.getDiagnostics(editor.document.uri).filter(({ source }) => source === "trellis");
  const here = found.find(({ range }) => range.contains(editor.selection.active)) ?? found.find(({ range }) => range.start.line === editor.selection.active.line);
  const code = here?.code;
  return typeof code === "object" ? String(code.value) : code?.toString();
}

/** The pages of codes, as documents that nobody saves. */
class Explanations implements vscode.TextDocumentContentProvider {
  static readonly scheme = "trellis-explain";

  constructor(private readonly graphs: Graphs) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const code = uri.path.replace(/^\//, "").replace(/\.md$/, "");
    const { stdout, stderr } = await this.graphs.ask(["explain", code], ".");
    return stdout || stderr;
  }

  async show(code: string | undefined): Promise<void> {
    const chosen = code ?? codeHere() ?? (await vscode.window.showInputBox({ prompt: "The code of a finding, such as `unknown-target`" }));
    if (!chosen) return;
    const uri = vscode.Uri.from({ scheme: Explanations.scheme, path: `/${chosen}.md` });
    await vscode.commands.executeCommand("markdown.showPreviewToSide", uri);
  }
}

/** Creates a node beside the active file; beside a sheet, in the graph that the sheet is about. */
async function newNode(graphs: Graphs): Promise<void> {
  const root = await graphs.current();
  if (root === undefined) return;
  const file = vscode.window.activeTextEditor?.document.uri;
  const value = file && graphs.of(file) === root ? placeBeside(root, file.fsPath) : "";
  const id = await vscode.window.showInputBox({ prompt: "The id of the node, its path without an ending", value, valueSelection: [value.length, value.length] });
  if (!id) return;
  const ended = await graphs.ask(["new", "node", id, "--graph", "."], root);
  const made = /^made (.+)$/m.exec(ended.stdout)?.[1];
  if (ended.code !== 0 || made === undefined) void vscode.window.showErrorMessage(ended.stderr.trim());
  else await vscode.window.showTextDocument(vscode.Uri.file(join(root, made)));
}

/** Plays a graph in a terminal from its start; each save is taken up. */
async function play(graphs: Graphs): Promise<void> {
  const root = await graphs.current();
  if (root !== undefined) graphs.inTerminal("Trellis", root, ["run", "--watch", "."]);
}

/** Plays a graph in a terminal from the node where the cursor is. */
async function playHere(graphs: Graphs): Promise<void> {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const root = uri && graphs.of(uri);
  const node = root && (await graphs.nodeHere(root));
  if (uri !== undefined && node !== undefined) playNode(graphs, uri.toString(), node);
  else void vscode.window.showInformationMessage("There is no node at the cursor that can be played, as the graph is saved.");
}

/** Plays a graph in a terminal from one of its nodes. */
function playNode(graphs: Graphs, uri: string, node: string): void {
  const root = graphs.of(vscode.Uri.parse(uri));
  if (root !== undefined) graphs.inTerminal("Trellis", root, ["run", "--watch", "--at", node, "."]);
}

/** Shows the places that name a node. */
async function references(uri: string, position: { line: number; character: number }): Promise<void> {
  const [file, place] = [vscode.Uri.parse(uri), new vscode.Position(position.line, position.character)];
  const found = await vscode.commands.executeCommand<vscode.Location[]>("vscode.executeReferenceProvider", file, place);
  await vscode.commands.executeCommand("editor.action.showReferences", file, place, found ?? []);
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("Trellis", { log: true });
  const graphs = new Graphs(log);
  const views = new GraphViews(graphs);
  const counter = new Counter(graphs);
  const explanations = new Explanations(graphs);
  const sheets = new Sheets(graphs);
  const servers = new Servers(graphs);
  const withRoot = (act: (root: string) => void | Promise<void>) => async () => {
    const root = await graphs.current();
    if (root !== undefined) await act(root);
  };
  const starts = new OneAtATime(async () => {
    await restart(graphs);
    await Promise.all([counter.count(), sheets.list()]);
  });
  const again = () => starts.ask();
  const commands: [string, (...args: never[]) => unknown][] = [
    ["trellis.check", withRoot((root) => void graphs.inTerminal("Trellis check", root, ["check", "--watch", "."]))],
    ["trellis.explain", (code?: string) => explanations.show(typeof code === "string" ? code : undefined)],
    ["trellis.newNode", () => newNode(graphs)],
    ["trellis.graph", withRoot((root) => views.open(root))],
    ["trellis.play", () => play(graphs)],
    ["trellis.playHere", () => playHere(graphs)],
    ["trellis.playNode", (uri: string, node: string) => playNode(graphs, uri, node)],
    ["trellis.references", (uri: string, position: { line: number; character: number }) => references(uri, position)],
    ["trellis.studio", withRoot((root) => openStudio(graphs, servers, root))],
    ["trellis.accept", (item?: vscode.TestItem | { test?: vscode.TestItem }) => sheets.accept(item && "test" in item ? item.test : (item as vscode.TestItem))],
    ["trellis.restart", again],
  ];
  context.subscriptions.push(
    log,
    graphs,
    views,
    counter,
    sheets,
    servers,
    vscode.workspace.registerTextDocumentContentProvider(Explanations.scheme, explanations),
    ...commands.map(([name, act]) => vscode.commands.registerCommand(name, act)),
    vscode.workspace.onDidChangeConfiguration((changed) => {
      if (SERVER_SETTINGS.some((setting) => changed.affectsConfiguration(setting))) void again();
    }),
  );
  await again();
}

export async function deactivate(): Promise<void> {
  await client?.dispose();
}
