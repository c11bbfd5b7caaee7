/** A server over graphs in a folder of its own, and a browser that looks at it. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const peers = createRequire(path.join(process.env.TRELLIS_STUDIO_PEERS, "package.json"));
const { chromium } = peers("playwright-core");
export const axe = fs.readFileSync(peers.resolve("axe-core/axe.min.js"), "utf8");

export const TOKEN = "0123456789abcdef0123456789abcdef";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/**
 * How the journeys are played, where nothing else is said: with the pointer on a large light page, or by `keyboard` alone, `dark`, or `narrow`. A journey
 * that has a size or colours of its own keeps them.
 */
const FORM = process.env.FORM ?? "";
assert.ok(["", "keyboard", "dark", "narrow"].includes(FORM), `there is no form ${FORM}`);
const SIZE = FORM === "narrow" ? { width: 390, height: 844 } : { width: 1440, height: 900 };

/** Writes graphs into a fresh folder; `graphs` are folders to copy, or files by path. */
export function folderOf(copied, files) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "trellis-studio-"));
  for (const graph of copied) {
    fs.cpSync(path.join(process.env.TRELLIS_GRAPHS, graph), path.join(folder, graph), { recursive: true, filter: (from) => !from.includes(".trellis") });
  }
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

export class Server {
  constructor(folder) {
    this.folder = folder;
  }

  /** Starts `trellis serve`; again, at the same port. */
  async start() {
    // Of the system: the next free one from 7317 on may be another script's while this server is down.
    const port = ["--port", String(this.port ?? 0)];
    const graphs = fs.readdirSync(this.folder).sort();
    this.child = spawn(process.env.TRELLIS, ["serve", ...graphs, ...port], {
      cwd: this.folder,
      env: { ...process.env, TRELLIS_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.endsWithUs();
    return this.at(await this.line(this.child.stdout, () => true));
  }

  /** Nothing outlives a script that fails: whoever waits for its output would wait for ever. */
  endsWithUs() {
    const { child } = this;
    process.once("exit", () => child.kill("SIGKILL"));
  }

  /** Waits for the line of an output that `wanted` takes; what comes later is read and left. */
  async line(output, wanted) {
    return new Promise((resolve, reject) => {
      let text = "";
      output.on("data", (piece) => {
        text += piece;
        const line = text.split("\n").slice(0, -1).find(wanted);
        if (line !== undefined) resolve(line);
      });
      this.child.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
    });
  }

  at(address) {
    this.address = address.split("#")[0].replace(/\/$/, "");
    this.port = Number(this.address.split(":").at(-1));
    return this;
  }

  async kill() {
    const gone = new Promise((resolve) => this.child.on("exit", resolve));
    this.child.kill("SIGKILL");
    await gone;
  }

  async end() {
    await this.kill();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  async api(method, route, body, headers = {}) {
    const response = await fetch(`${this.address}/api/${route}`, {
      method,
      headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return response.status === 204 ? null : response.json();
  }

  /** Begins a session, answers what it asks, and returns its last turn. */
  async session(graph, id, answers = [], more = {}) {
    let turn = await this.api("POST", "sessions", { graph, id, ...more }, { Prefer: "wait=20" });
    for (const input of answers) turn = await this.api("POST", `sessions/${id}/turns`, { input });
    assert.ok(turn.stop, `${id}: ${turn.detail}`);
    return turn;
  }
}

/** `trellis up` over the graph of the repository, with a model that says what `model` has. */
export class Agent extends Server {
  constructor(model, settings = "") {
    super(folderOf(["orchestrator"], { "orchestrator/_model.yaml": model, "workspace/orchestrator.yaml": settings }));
  }

  async start() {
    // As above.
    const port = ["--port", String(this.port ?? 0)];
    this.child = spawn(process.env.TRELLIS, ["up", "orchestrator", "--workspace", "workspace", ...port], {
      cwd: this.folder,
      env: { ...process.env, TRELLIS_TOKEN: TOKEN, TRELLIS_MODEL_BASE_URL: "", SLACK_BOT_TOKEN: "xoxb-of-the-tests" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.endsWithUs();
    return this.at((await this.line(this.child.stderr, (line) => line.startsWith("dashboard "))).replace(/^dashboard +/, ""));
  }

  /** Says something, as a page does. */
  async say(text) {
    return this.api("POST", "channels/web/messages", { text });
  }

  /** Waits until the state is as `is` says. */
  async until(is) {
    for (let looks = 0; looks < 400; looks += 1) {
      const state = await this.api("GET", "state");
      if (is(state)) return state;
      await new Promise((resume) => setTimeout(resume, 50));
    }
    return assert.fail(`it never came: ${JSON.stringify(await this.api("GET", "state"))}`);
  }
}

export async function launch() {
  const began = Date.now();
  // The one without windows takes half the processor time.
  const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((program) => fs.existsSync(program));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? installed, args: FLAGS });
  console.log(`chromium: ${Date.now() - began} ms`);
  return browser;
}

/**
 * A browser of its own. With `TRELLIS_STUDIO_DIST` the page comes from that folder instead of the program, so that a build is tried without compiling.
 */
export async function newContext(browser, options = {}) {
  const context = await browser.newContext(options);
  const dist = process.env.TRELLIS_STUDIO_DIST;
  if (dist) {
    await context.route(
      (url) => ["/", "/studio.js", "/studio.css"].includes(url.pathname) && url.hostname === "127.0.0.1",
      async (route) => {
        const file = new URL(route.request().url()).pathname.slice(1) || "index.html";
        await route.fulfill({ path: path.join(dist, file) });
      },
    );
  }
  return context;
}

/** A page of the studio in a browser of its own. What it complains about is an error of the test. */
export async function visit(browser, server, hash = "/", { width = SIZE.width, height = SIZE.height, colorScheme = FORM === "dark" ? "dark" : "light", context } = {}) {
  const own = context ?? (await newContext(browser, { viewport: { width, height }, colorScheme, reducedMotion: "reduce" }));
  const page = await own.newPage();
  // A guard against what hangs; a busy machine takes its time.
  page.setDefaultTimeout(120_000);
  if (FORM === "keyboard") withoutPointer(page);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => {
    // A server that is gone, and answers that are problems, are told by the browser besides.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.complaints.push(message.text());
  });
  await page.goto(`${server.address}/#${TOKEN}`);
  await page.locator("h1").first().waitFor({ state: "attached" });
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  return page;
}

/** Whether the focus is where it should be; what cannot have it is not asked for. */
const focusOf = (element) => {
  const isFocusable = element.matches("a[href], button, input, select, textarea, summary, [tabindex]");
  return isFocusable ? element === document.activeElement : null;
};

/** Presses Tab until something has the focus; false if it never can. */
async function reach(locator) {
  await locator.waitFor();
  for (let presses = 0; presses < 500; presses += 1) {
    const isThere = await locator.evaluate(focusOf);
    if (isThere !== false) return isThere === true;
    await locator.page().keyboard.press("Tab");
  }
  return assert.fail(`Tab does not reach ${locator}`);
}

/** From now on, what journeys click and fill is reached and pressed by keys. */
function withoutPointer(page) {
  const locators = Object.getPrototypeOf(page.locator("body"));
  locators.click = async function click() {
    // A click beside all controls leaves a field.
    await this.page().keyboard.press((await reach(this)) ? "Enter" : "Escape");
  };
  locators.fill = async function fill(text) {
    await reach(this);
    await this.page().keyboard.press("Control+a");
    await this.page().keyboard.press("Delete");
    await this.page().keyboard.type(text);
  };
}

/** Shows a part of a session, where one is shown at a time. */
export async function show(page, part) {
  const button = page.locator(".panes").getByRole("button", { name: part });
  if (await button.isVisible()) await button.click();
}

/** Waits until the page asks something. */
export async function asked(page, text) {
  await page.locator(".here-scroll").getByText(text).last().waitFor();
}

/** What part of the drawing is in sight: a point of it times `k`, moved by `x` and `y`. */
export async function sightOf(page) {
  return page.locator(".drawing-world").evaluate(async (world) => {
    // A move is drawn with the next frame.
    for (let frames = 0; frames < 2; frames += 1) await new Promise((drawn) => requestAnimationFrame(drawn));
    const { a: k, e: x, f: y } = new DOMMatrix(getComputedStyle(world).transform);
    return { x: Math.round(x), y: Math.round(y), k: Math.round(k * 1000) / 1000 };
  });
}

/** Presses `g` and a key until they lead there: a second key counts only within a second of the first, and a busy machine may take longer. */
export async function lead(page, key, pattern) {
  for (let tries = 0; tries < 20; tries++) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    const led = page.waitForFunction((source) => new RegExp(source).test(location.hash), pattern, { timeout: 4000 });
    if (await led.then(() => true, () => false)) return;
  }
  assert.fail(`g ${key} does not lead to ${pattern}`);
}

/** Presses Tab until a control has the focus, by its name. */
export async function tabTo(page, name) {
  const isThere = (text) => (typeof name === "string" ? text === name : name.test(text));
  const passed = [];
  for (let presses = 0; presses < 100; presses += 1) {
    await page.keyboard.press("Tab");
    const text = await page.evaluate(() => {
      const { ariaLabel, textContent } = document.activeElement ?? document.body;
      return (ariaLabel ?? textContent ?? "").trim();
    });
    if (isThere(text)) return;
    passed.push(text.slice(0, 40));
  }
  assert.fail(`Tab does not reach ${name}: ${passed.join(", ")}`);
}

/** What is wrong with the accessibility of what is shown, as axe sees it. */
export async function accessible(page, what) {
  // A fresh world: the page's own policy allows no script from elsewhere.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
  await session.send("Runtime.evaluate", { expression: axe, contextId: executionContextId });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `(${violations})()`,
    contextId: executionContextId,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return JSON.parse(result.value).map((violation) => `${what}: ${JSON.stringify(violation)}`);
}

/** Runs in the page. What stands in the drawing is as large as its zoom makes it, and cut at its border. */
export async function violations() {
  const found = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
  const isDrawn = (rule, node) => rule === "target-size" && document.querySelector(node.target.join(" "))?.closest(".drawing-world");
  const told = (node) => `${node.target.join(" ")} ${node.failureSummary ?? ""}`;
  const kept = found.violations.map(({ id, nodes }) => [id, nodes.filter((node) => !isDrawn(id, node)).map(told).slice(0, 3)]);
  return JSON.stringify(kept.filter(([, nodes]) => nodes.length > 0));
}

/** The journeys that are played side by side: each lane waits half of its time. */
const LANES = 2;

/** Plays a journey in the browser of its lane; returns whether it came to its end. */
async function succeeds(name, journey, stage) {
  const began = Date.now();
  try {
    await journey(stage);
    console.log(`ok      ${name} (${Date.now() - began} ms)`);
    return true;
  } catch (error) {
    const open = stage.browser.contexts().flatMap((context) => context.pages()).at(-1);
    const text = await open?.locator("body").innerText().catch(String);
    // In one piece, since the other lanes print too.
    console.log(`FAILED  ${name}\n${error.stack}${open ? `\nthe page shows: ${text.replace(/\s+/g, " ").slice(0, 1500)}` : ""}`);
    if (process.env.TRELLIS_SHOTS && open) await open.screenshot({ path: path.join(process.env.TRELLIS_SHOTS, `failed-${name.replace(/\W+/g, "-")}.png`) });
    return false;
  } finally {
    for (const context of stage.browser.contexts()) await context.close();
  }
}

/**
 * Plays the journeys whose names hold one of the arguments, or all of them, in lanes side by side; returns the number of those that failed. Each lane has
 * a browser and the server of a stage of its own, and takes the next journey that nobody has taken.
 */
export async function play(journeys, stage) {
  const wanted = process.argv.slice(2);
  const names = Object.keys(journeys).filter((name) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
  assert.ok(names.length > 0, "no journey has such a name");
  const left = names.values();
  let failures = 0;
  const lane = async () => {
    const [browser, own] = await Promise.all([launch(), stage()]);
    for (const name of left) if (!(await succeeds(name, journeys[name], { browser, ...own }))) failures += 1;
    await browser.close();
    await own.server.end();
  };
  await Promise.all(Array.from({ length: Math.min(LANES, names.length) }, lane));
  console.log(`${names.length - failures} of ${names.length} journeys`);
  return failures;
}
