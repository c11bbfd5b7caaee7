/** Trellis in VS Code: the language server, the drawing, tests, and commands that run the program `trellis`. */

import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";
import { Counter } from "./counter.ts";
import { Graphs } from "./graphs.ts";
import { OneAtATime } from "./order.ts";
import { Player } from "./play.ts";
import { placeBeside } from "./roots.ts";
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

/** Returns an action that opens the file, too, if it makes one: a new node is there to be written. */
function opening<T extends vscode.Command | vscode.CodeAction>(action: T): T {
  if (!(action instanceof vscode.CodeAction) || action.command !== undefined) return action;
  if (action.kind === undefined || !vscode.CodeActionKind.QuickFix.contains(action.kind)) return action;
  const made = action.edit?.entries().find(([uri]) => uri.scheme === "file" && !existsSync(uri.fsPath))?.[0];
  if (made !== undefined) action.command = { command: "trellis.open", title: "Open", arguments: [made] };
  return action;
}

/** Opens a file that was made, with the cursor at its end. */
async function openMade(uri: vscode.Uri): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const end = document.lineAt(document.lineCount - 1).range.end;
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(end, end) });
}

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
    middleware: { provideCodeActions: async (document, range, context, token, next) => (await next(document, range, context, token))?.map(opening) },
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
  if (id) await graphs.makeNode(root, id);
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
  const counter = new Counter(graphs, async (method, params) => (client?.isRunning() ? client.sendRequest(method, params) : undefined));
  const player = new Player(graphs);
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
    ["trellis.play", () => player.play()],
    ["trellis.playHere", () => player.playHere()],
    ["trellis.playNode", (uri: string, node: string) => player.playNode(uri, node)],
    ["trellis.open", (uri: vscode.Uri) => openMade(uri)],
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
