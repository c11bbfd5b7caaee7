/** The pictures of docs/studio.md and docs/mcp.md, made from the running program: `node pictures.mjs FOLDER`. */

import fs from "node:fs";
import path from "node:path";

import { Chat } from "./chat.mjs";
import { large, STALL } from "./graphs.mjs";
import { FakeSlack } from "./fake-slack.mjs";
import { Agent, asked, folderOf, launch, Server, visit } from "./harness.mjs";

const target = process.argv[2] ?? ".";
const folder = folderOf(["tour", "hello"], { ...STALL, ...large(1000) });
const server = await new Server(folder).start();
const browser = await launch();

await server.session("tour", "ana", ["Ada"]);
await server.session("tour", "postcard", [], { at: "tools/card", context: { name: "Ada" } });
await server.session("tour", "hotel", ["Ada", "answers", "Tea"]);
await server.session("stall", "order-1207");
await server.session("stall", "order-1211");

/** An agent that answers as one would. */
const SAYS = `
- when: { matches: 'queue' }
  reply: { content: "Three orders wait, the oldest since **Monday**:\\n\\n| order | since |\\n|---|---|\\n| 1207 | Monday |\\n| 1211 | Tuesday |\\n| 1212 | today |\\n\\nShall I write the report?" }
- when: { matches: 'report' }
  reply: { tool_calls: [{ name: shell, args: { command: "./report.sh orders --since monday > report.md" } }] }
- when: { matches: 'Slack' }
  reply: { tool_calls: [{ name: message, args: { chat: "slack:C0123", text: "The report of this week is in report.md: three orders wait." } }] }
- when: { matches: 'research' }
  reply: { tool_calls: [{ name: spawn, args: { title: "Compare the carriers", prompt: "compare", steps: [{ title: "Collect prices", prompt: "wait for prices" }, { title: "Collect times", prompt: "times" }, { title: "Write it up", prompt: "write" }] } }] }
- when: { matches: 'prices' }
  reply: { tool_calls: [{ name: shell, args: { command: "./prices.sh --carriers all" } }] }
- reply: { content: "Done." }
`;

/** An agent with something in every part of its dashboard. */
async function busyAgent() {
  const slack = await new FakeSlack().start();
  const agent = await new Agent(SAYS, slack.settings()).start();
  await agent.say("Tell Slack about it");
  const { approvals } = await agent.until((state) => state.approvals.length > 0);
  await agent.api("POST", `sessions/${approvals[0].session}/approvals/${approvals[0].call.id}`, { decision: "approve" });
  await agent.until((state) => state.dead.length > 0 && state.runs.length === 0);
  await agent.say('/cron add "0 9 * * 1-5" tz=Europe/Berlin "The morning report"');
  await agent.say('/cron add every 2h "Look at the queue of orders"');
  await agent.until((state) => state.cron.length === 2);
  await agent.api("POST", `cron/${(await agent.api("GET", "state")).cron[1].id}/pause`, {});
  await agent.say("Please research the carriers");
  await agent.until((state) => state.tasks.length > 0 && state.approvals.length > 0);
  await agent.say("How long is the queue?");
  // Two messages that come at once are one turn, with one answer.
  while (!(await agent.api("GET", "channels/web/messages")).items.some(({ text }) => text.startsWith("Three orders"))) await new Promise((resume) => setTimeout(resume, 50));
  await agent.say("Yes, the report please");
  await agent.until((state) => state.approvals.length > 1);
  return { agent, slack };
}
const { agent, slack } = await busyAgent();

/** Nodes in two files that lead to nothing, and read what nobody wrote. */
function breakTour() {
  const file = path.join(folder, "tour/menu.md");
  const text = fs.readFileSync(file, "utf8");
  fs.writeFileSync(file, text.replace("{{ name }}", "{{ nmae }}"));
  return () => fs.writeFileSync(file, text);
}

const PICTURES = {
  async walk(page) {
    await open(page, "/s/ana");
    await asked(page, "Where to, Ada?");
  },
  async approval(page) {
    await open(page, "/s/postcard");
    await page.getByText("Send a picture postcard to Ada?").waitFor();
  },
  async time(page) {
    await open(page, "/s/hotel/@4");
    await page.getByText("You look at record 4").waitFor();
  },
  async graph(page) {
    await open(page, "/g/tour?node=tools/card");
    await page.locator(".sheet .edges").first().waitFor();
  },
  async problems(page) {
    const mend = breakTour();
    await open(page, "/g/tour/problems");
    await page.locator(".finding.is-chosen").waitFor();
    await page.waitForTimeout(600);
    return mend;
  },
  async dead(page) {
    await page.setViewportSize({ width: 1280, height: 600 });
    await open(page, "/dead");
    await page.locator(".dead-card").first().waitFor();
  },
  async large(page) {
    await open(page, "/g/large");
    await page.locator(".module-folded").first().waitFor();
  },
  async phone(page) {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(page, "/s/ana");
    await asked(page, "Where to, Ada?");
  },
};

async function open(page, hash) {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await page.locator("h1").first().waitFor({ state: "attached" });
}

const AGENT_PICTURES = {
  async chat(page) {
    await open(page, "/chat");
    await page.locator(".chat-held").last().waitFor();
  },
  async dashboard(page) {
    await page.setViewportSize({ width: 1280, height: 1100 });
    await open(page, "/dashboard");
    await page.locator(".dead-card").first().waitFor();
  },
  async phone(page) {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(page, "/chat");
    await page.locator(".chat-held").last().waitFor();
  },
};

/** A session beside a chat. */
async function chatPicture(theme) {
  const chat = await Chat.open(browser, server, { theme });
  await chat.walk("navigate", { session: (await server.session("tour", `chat-${theme}`, ["Ada"])).session });
  await chat.button("Questions and answers").click();
  await chat.said("What would you like?");
  await chat.page.mouse.move(0, 0);
  await chat.fits();
  await chat.page.locator("iframe").screenshot({ path: path.join(target, `chat-walk-${theme}.png`) });
  await chat.close();
}

for (const colorScheme of ["light", "dark"]) {
  await chatPicture(colorScheme);
  for (const [name, show] of Object.entries(AGENT_PICTURES)) {
    const page = await visit(browser, agent, "/", { width: 1280, height: 800, colorScheme });
    await show(page);
    await page.waitForTimeout(500);
    await page.evaluate(() => document.activeElement?.blur());
    await page.screenshot({ path: path.join(target, `agent-${name}-${colorScheme}.png`) });
    await page.context().close();
  }
  for (const [name, show] of Object.entries(PICTURES)) {
    const page = await visit(browser, server, "/", { width: 1280, height: 800, colorScheme });
    const after = await show(page);
    await page.waitForTimeout(500);
    await page.evaluate(() => document.activeElement?.blur());
    await page.screenshot({ path: path.join(target, `studio-${name}-${colorScheme}.png`) });
    after?.();
    await page.context().close();
  }
}
await browser.close();
await server.kill();
await agent.end();
slack.server.close();
fs.rmSync(folder, { recursive: true, force: true });
