/** A chat that shows pages of MCP servers: the official client, the official bridge in a browser, and the sandbox as the specification has it. */

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { axe, TOKEN, violations } from "./harness.mjs";

const peers = createRequire(path.join(process.env.TRELLIS_MCP_PEERS, "package.json"));
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(peers.resolve("@modelcontextprotocol/client").replace(".cjs", ".mjs")));
const { rolldown } = await import(path.join(process.env.TRELLIS_STUDIO_PEERS, "build/node_modules/rolldown/dist/index.mjs"));

const UI = "io.modelcontextprotocol/ui";
const KIND = "text/html;profile=mcp-app";
/** What the specification wants where a resource names no domain. */
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; object-src 'none'; connect-src 'none'";
/** All that a host can do for a page. */
export const ABILITIES = { serverTools: {}, updateModelContext: { text: {} }, message: { text: {} }, openLinks: {} };

const HOST = '<!doctype html><html lang="en"><head><title>Chat</title><style>iframe { box-sizing: content-box; width: calc(100% - 2px); border: 1px solid #8b8579; border-radius: 8px }</style></head><body><script src="host.js"></script></body></html>';
const SANDBOX = `<!doctype html><html lang="en"><head><title>Sandbox</title><style>html, body, iframe { display: block; width: 100%; height: 100%; margin: 0; border: 0 }</style></head><body><script>
  const view = document.createElement("iframe");
  view.title = "The page";
  addEventListener("message", ({ source, data }) => {
    if (source === view.contentWindow) return parent.postMessage(data, "*");
    if (source !== parent) return;
    if (data.method !== "ui/notifications/sandbox-resource-ready") return view.contentWindow?.postMessage(data, "*");
    view.sandbox = data.params.sandbox;
    view.srcdoc = data.params.html;
    document.body.append(view);
  });
  parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*");
</script></body></html>`;

let bundled = null;

/** The script of the chat's page, with what it imports. */
async function script() {
  const input = path.join(import.meta.dirname, "chat-host.mjs");
  const build = await rolldown({ input, platform: "browser", resolve: { modules: [path.join(process.env.TRELLIS_MCP_PEERS, "node_modules")] }, logLevel: "silent" });
  const { output } = await build.generate({ format: "iife" });
  return output[0].code;
}

export class Chat {
  /** What the host was told: `context`, `message`, `link`, and the forms that the client showed. */
  told = { context: [], message: [], link: [], form: [] };
  /** What the browser asked of others than the chat. */
  foreign = [];
  complaints = [];

  /** Opens a chat. `decision` is what its person says to forms; without it, it has none. */
  static async open(browser, server, { era = "auto", decision, theme = "light", width = 720, abilities = ABILITIES } = {}) {
    const chat = new Chat();
    Object.assign(chat, { server, abilities, hostContext: { theme, displayMode: "inline", containerDimensions: { width, maxHeight: 4000 } } });
    chat.client = await chat.connect(era, decision);
    bundled ??= script();
    const code = await bundled;
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: "light", reducedMotion: "reduce" });
    await context.route("**/*", (route) => {
      const { host, pathname } = new URL(route.request().url());
      if (host === "chat.test" && pathname === "/host.js") return route.fulfill({ contentType: "text/javascript", body: code });
      if (host === "chat.test") return route.fulfill({ contentType: "text/html", body: HOST });
      if (host === "sandbox.test") return route.fulfill({ contentType: "text/html", body: SANDBOX, headers: { "content-security-policy": POLICY } });
      chat.foreign.push(route.request().url());
      return route.abort();
    });
    chat.page = await context.newPage();
    chat.page.setDefaultTimeout(Number(process.env.PATIENCE ?? 120_000));
    chat.page.on("pageerror", (error) => chat.complaints.push(String(error)));
    chat.page.on("console", (message) => message.type() === "error" && !message.text().includes("favicon") && chat.complaints.push(message.text()));
    await chat.page.exposeFunction("callTool", (params) => chat.client.callTool(params));
    await chat.page.exposeFunction("told", (kind, params) => void chat.told[kind].push(params));
    await chat.page.goto("http://chat.test/");
    return chat;
  }

  async connect(era, decision) {
    const capabilities = { extensions: { [UI]: { mimeTypes: [KIND] } }, ...(decision && { elicitation: {} }) };
    const client = new Client({ name: "chat", version: "1" }, { capabilities, versionNegotiation: { mode: era } });
    if (decision) {
      client.setRequestHandler("elicitation/create", async ({ params }) => {
        this.told.form.push(params);
        return { action: "accept", content: { decision } };
      });
    }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${this.server.address}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } } }));
    return client;
  }

  /** What the model does: calls a tool. */
  async call(name, args = {}) {
    return this.client.callTool({ name, arguments: args });
  }

  /** Calls a tool as the model, and shows the page that it names beside the result; `change` is what becomes of that on the way. */
  async walk(name, args = {}, change = (result) => result) {
    const { tools } = await this.client.listTools();
    const uri = tools.find((tool) => tool.name === name)._meta.ui.resourceUri;
    const { contents } = await this.client.readResource({ uri });
    assert.deepEqual([contents[0].mimeType, contents[0]._meta], [KIND, { ui: { prefersBorder: true } }]);
    const { abilities, hostContext } = this;
    // A build is tried without compiling.
    const dist = process.env.TRELLIS_STUDIO_DIST;
    const html = dist ? fs.readFileSync(path.join(dist, "session.html"), "utf8") : contents[0].text;
    await this.page.evaluate((shown) => window.show(shown), { html, abilities, hostContext });
    this.result = await this.call(name, args);
    await this.page.evaluate(([given, result]) => window.deliver(given, result), [args, change(this.result)]);
    return this.result.structuredContent;
  }

  /** The page that was shown last. */
  get shown() {
    return this.page.frameLocator("iframe").last().frameLocator("iframe");
  }

  async frame() {
    const sandbox = await (await this.page.locator("iframe").last().elementHandle()).contentFrame();
    return (await (await sandbox.waitForSelector("iframe")).contentFrame());
  }

  /** Waits until the page says something. */
  async said(text) {
    await this.shown.locator(".here-scroll").getByText(text).last().waitFor();
  }

  button(name) {
    return this.shown.getByRole("button", { name });
  }

  field(name) {
    return this.shown.getByRole("textbox", { name });
  }

  /** Waits until the page has the room that it asked for. */
  async fits() {
    await (await this.frame()).waitForFunction(() => document.documentElement.scrollHeight === innerHeight);
  }

  /** What axe finds wrong with the page. */
  async violations(what) {
    const frame = await this.frame();
    await frame.evaluate(axe);
    return JSON.parse(await frame.evaluate(violations)).map((violation) => `${what}: ${JSON.stringify(violation)}`);
  }

  /** Holds that the page asked nobody but the chat, and that nothing in it failed. */
  async close() {
    assert.deepEqual([this.foreign, this.complaints], [[], []]);
    await this.page.evaluate(() => window.tearDown());
    await this.client.close();
    await this.page.context().close();
  }
}
