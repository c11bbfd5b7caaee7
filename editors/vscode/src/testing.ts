/** Sheets of `_tests` in the view of tests: played by `trellis test`, with coverage, differences and *accept*. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Graphs } from "./graphs.ts";
import { coverageIn } from "./lcov.ts";
import { Newest, OneAtATime } from "./order.ts";
import { type Case, type ListedGraph, caseIn, differing, listedOnce, partsOf } from "./results.ts";
import { graphOfSheet } from "./roots.ts";

/** The sheets of a graph. */
const SHEETS = "**/_tests/**/*.md";

/** The messages that *accept* is offered at, as the menus of `package.json` name them. */
const DIFFERENCE = "trellis.difference";

/** Cases by the ids of their items. */
type Cases = Map<string, { root: string; id: string }>;

/** Returns the cases in an output, by their ids. */
function playedIn(output: string): Map<string, Case> {
  return new Map(output.split("\n").map(caseIn).filter((found) => found !== undefined).map((found) => [found.id, found]));
}

/** Returns an item and all below it. */
function* atAndBelow(item: vscode.TestItem): Generator<vscode.TestItem> {
  yield item;
  for (const [, child] of item.children) yield* atAndBelow(child);
}

/** The controller of the tests. */
export class Sheets implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("trellis", "Trellis");
  private readonly subscriptions: vscode.Disposable[] = [];
  /** The case of each item, by the id of the item. */
  private cases: Cases = new Map();
  /** The items as they were listed last: a run that goes on has those of its beginning. */
  private items = new Map<string, vscode.TestItem>();
  private readonly covered = new WeakMap<vscode.FileCoverage, vscode.StatementCoverage[]>();
  private listing: NodeJS.Timeout | undefined;
  private readonly newest = new Newest();

  constructor(private readonly graphs: Graphs) {
    const { controller } = this;
    controller.refreshHandler = () => this.list();
    controller.resolveHandler = (item) => (item === undefined ? this.list() : undefined);
    const plays = (covers: boolean) => (request: vscode.TestRunRequest, token: vscode.CancellationToken) => this.play(request, token, covers);
    controller.createRunProfile("Play", vscode.TestRunProfileKind.Run, plays(false), true, undefined, true);
    const coverage = controller.createRunProfile("Play with Coverage", vscode.TestRunProfileKind.Coverage, plays(true));
    coverage.loadDetailedCoverage = async (_run, file) => this.covered.get(file) ?? [];
    const watcher = vscode.workspace.createFileSystemWatcher(SHEETS);
    const soon = () => this.listSoon();
    this.subscriptions.push(controller, watcher, watcher.onDidCreate(soon), watcher.onDidChange(soon), watcher.onDidDelete(soon));
  }

  private listSoon(): void {
    clearTimeout(this.listing);
    this.listing = setTimeout(() => void this.list(), 200);
  }

  /** Lists the cases of all sheets. Until all are there, those of before hold. */
  async list(): Promise<void> {
    const answers = await this.newest.of(this.everyList());
    if (answers === undefined) return;
    const cases: Cases = new Map();
    const whole = answers.map(({ root, listed }) => ({ root, listed: typeof listed === "string" ? [] : listed }));
    const found = new Map(listedOnce(whole).map(({ root, listed }) => [root, listed]));
    const items = answers.map(({ root, listed }) => this.graph(root, typeof listed === "string" ? listed : found.get(root)!, cases));
    this.cases = cases;
    this.items = new Map(items.flatMap((item) => [...atAndBelow(item)]).map((item) => [item.id, item]));
    this.controller.items.replace(items.filter((item) => item.children.size > 0 || item.error !== undefined));
  }

  private async everyList(): Promise<ListedGraph<Case[] | string>[]> {
    const sheets = await vscode.workspace.findFiles(SHEETS, "**/{node_modules,.git}/**");
    const roots = [...new Set(sheets.map((sheet) => graphOfSheet(sheet.fsPath)).filter((root) => root !== undefined))].sort();
    return Promise.all(roots.map(async (root) => ({ root, listed: await this.listed(root) })));
  }

  /** Returns the cases of a graph, or the reason why nobody knows them. */
  private async listed(root: string): Promise<Case[] | string> {
    const ended = await this.graphs.ask(["test", ".", "--list", "--format", "json"], root).catch((error: unknown) => String(error));
    if (typeof ended === "string" || ended.code > 1) return typeof ended === "string" ? ended : ended.stderr;
    return ended.stdout.split("\n").map(caseIn).filter((found) => found !== undefined);
  }

  private graph(root: string, listed: Case[] | string, cases: Cases): vscode.TestItem {
    const item = this.controller.createTestItem(root, vscode.workspace.asRelativePath(root), vscode.Uri.file(root));
    if (typeof listed === "string") item.error = listed;
    else for (const found of listed) this.place(cases, item, root, found);
    return item;
  }

  /** Puts a case below its sheet and its headings. */
  private place(cases: Cases, graph: vscode.TestItem, root: string, { id, path, line }: Case): void {
    const uri = vscode.Uri.file(join(root, path));
    let above = graph;
    const parts = partsOf(id);
    for (const [at, label] of parts.entries()) {
      const name = `${root} › ${parts.slice(0, at + 1).join(" › ")}`;
      let item = above.children.get(name);
      if (item === undefined) {
        item = this.controller.createTestItem(name, label, uri);
        above.children.add(item);
      }
      above = item;
    }
    above.range = new vscode.Range(line - 1, 0, line - 1, 0);
    cases.set(above.id, { root, id });
  }

  /** Returns the items of cases at and below an item. */
  private below(item: vscode.TestItem): vscode.TestItem[] {
    return [...atAndBelow(item)].filter(({ id }) => this.cases.has(id));
  }

  private async play(request: vscode.TestRunRequest, token: vscode.CancellationToken, covers: boolean): Promise<void> {
    await vscode.workspace.saveAll(false);
    // The editor tells runs apart by their requests.
    const { include, exclude, profile } = request;
    const again = () => new vscode.TestRunRequest(include, exclude, profile, request.continuous);
    let next: vscode.TestRunRequest | undefined = request;
    const runs = new OneAtATime(() => {
      const asked = next ?? again();
      next = undefined;
      return this.playOnce(asked, token, covers);
    });
    if (request.continuous) {
      const saves = vscode.workspace.onDidSaveTextDocument((document) => void this.playAgain(document, runs));
      token.onCancellationRequested(() => saves.dispose());
    }
    await runs.ask();
  }

  /** Plays again because of what was saved: the cases of a sheet as they are now. */
  private async playAgain({ uri }: vscode.TextDocument, runs: OneAtATime): Promise<void> {
    if (this.graphs.of(uri) === undefined) return;
    if (graphOfSheet(uri.fsPath) !== undefined) await this.list();
    await runs.ask();
  }

  private async playOnce(request: vscode.TestRunRequest, token: vscode.CancellationToken, covers: boolean): Promise<void> {
    if (token.isCancellationRequested) return;
    const chosen = request.include?.map((item) => this.items.get(item.id) ?? item) ?? [...this.controller.items].map(([, item]) => item);
    const left = new Set((request.exclude ?? []).flatMap((item) => this.below(item).map(({ id }) => id)));
    const items = chosen.flatMap((item) => this.below(item)).filter((item) => !left.has(item.id));
    const run = this.controller.createTestRun(request);
    for (const item of items) run.enqueued(item);
    const byRoot = new Map<string, vscode.TestItem[]>();
    for (const item of items) {
      const { root } = this.cases.get(item.id)!;
      byRoot.set(root, [...(byRoot.get(root) ?? []), item]);
    }
    for (const [root, of] of byRoot) {
      if (token.isCancellationRequested) break;
      await this.playGraph(run, root, of, token, covers).catch((error: unknown) => {
        // What is cancelled was not played, and is no error.
        for (const item of of) {
          if (token.isCancellationRequested) run.skipped(item);
          else run.errored(item, new vscode.TestMessage(String(error)));
        }
      });
    }
    run.end();
  }

  private async playGraph(run: vscode.TestRun, root: string, items: vscode.TestItem[], token: vscode.CancellationToken, covers: boolean) {
    const ids = items.map((item) => item.id.slice(`${root} › `.length));
    const whole = [...this.cases.values()].filter((found) => found.root === root).length === ids.length;
    const folder = covers ? await mkdtemp(join(tmpdir(), "trellis-")) : undefined;
    const stopped = new AbortController();
    const stops = token.onCancellationRequested(() => stopped.abort());
    try {
      const report = folder && join(folder, "lcov.info");
      const args = ["test", ".", ...(whole ? [] : [...ids, "--exact"]), "--format", "json", ...(report ? [`--coverage=lcov:${report}`] : [])];
      for (const item of items) run.started(item);
      const ended = await this.graphs.ask(args, root, stopped.signal);
      const played = playedIn(ended.stdout);
      for (const [at, item] of items.entries()) this.report(run, item, played.get(ids[at]!), ended.stderr);
      if (report !== undefined) await this.cover(run, root, report);
    } finally {
      stops.dispose();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    }
  }

  private report(run: vscode.TestRun, item: vscode.TestItem, played: Case | undefined, stderr: string): void {
    if (played === undefined) {
      run.errored(item, new vscode.TestMessage(stderr || "the case was not played"));
      return;
    }
    switch (played.outcome) {
      case "passed":
      case "updated":
        run.passed(item, played.ms);
        break;
      case "skipped":
        run.skipped(item);
        break;
      default: {
        const message = this.message(item, played);
        if (played.outcome === "failed") run.failed(item, message, played.ms);
        else run.errored(item, message, played.ms);
      }
    }
  }

  private message(item: vscode.TestItem, { difference, message }: Case): vscode.TestMessage {
    if (difference === null) return new vscode.TestMessage(message ?? "it failed");
    const where = difference.node === null ? "" : ` at \`${difference.node}\``;
    // What is the same stands above and below in the sheet.
    const { expected, got } = differing(difference);
    const found = vscode.TestMessage.diff(`Something else came out${where}`, expected.join("\n"), got.join("\n"));
    found.contextValue = DIFFERENCE;
    if (item.uri !== undefined) found.location = new vscode.Location(item.uri, new vscode.Position(Math.max(0, difference.line - 1), 0));
    return found;
  }

  private async cover(run: vscode.TestRun, root: string, report: string): Promise<void> {
    const text = await readFile(report, "utf8").catch(() => "");
    for (const [path, lines] of coverageIn(text)) {
      const details = lines.map(({ line, count }) => new vscode.StatementCoverage(count, new vscode.Position(line - 1, 0)));
      const file = vscode.FileCoverage.fromDetails(vscode.Uri.file(join(root, path)), details);
      this.covered.set(file, details);
      run.addCoverage(file);
    }
  }

  /** Writes what came out into the blocks of the cases at and below an item, and shows what they come to now. */
  async accept(item: vscode.TestItem | undefined): Promise<void> {
    const ids = item ? this.below(item).map(({ id }) => id) : [];
    const found = ids.map((id) => this.cases.get(id)!);
    if (found.length === 0) return;
    await vscode.workspace.saveAll(false);
    const ended = await this.graphs.ask(["test", ".", ...found.map(({ id }) => id), "--exact", "--update=all", "--format", "json"], found[0]!.root);
    await this.list();
    if (ended.code > 1) {
      void vscode.window.showErrorMessage(ended.stderr);
      return;
    }
    const played = playedIn(ended.stdout);
    const items = ids.map((id) => this.items.get(id)).filter((item) => item !== undefined);
    const run = this.controller.createTestRun(new vscode.TestRunRequest(items));
    for (const item of items) this.report(run, item, played.get(this.cases.get(item.id)!.id), ended.stderr);
    run.end();
  }

  dispose(): void {
    clearTimeout(this.listing);
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
