/** What people do with an agent in the browser: they chat, decide, and mend what is stuck. `node agent.mjs [NAME…]` */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import { FakeSlack } from "./fake-slack.mjs";
import { MODEL } from "./graphs.mjs";
import { accessible, Agent, lead, play, tabTo, visit } from "./harness.mjs";

const PHONE = { width: 390, height: 844, colorScheme: "dark" };

const log = (page) => page.locator(".chat-log");
const files = (server, name) => path.join(server.folder, "workspace/files", name);

/** Waits until a file has a text. */
async function written(file, text) {
  for (let looks = 0; looks < 200 && !(fs.existsSync(file) && fs.readFileSync(file, "utf8") === text); looks += 1) {
    await new Promise((resume) => setTimeout(resume, 50));
  }
  assert.equal(fs.readFileSync(file, "utf8"), text);
}

const JOURNEYS = {
  /** A newcomer opens the address and chats; a secret is sealed before it is shown. */
  async "chats, and seals what nobody should see"({ browser, server }) {
    const page = await visit(browser, server, "/chat");
    await page.getByText("Say something").waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("Hello");
    await page.getByRole("button", { name: "Send" }).click();
    await log(page).getByText("came: Hello").waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("my password is hunter2-Zx9!kQ");
    await page.keyboard.press("Enter");
    await log(page).getByText(/\{\{secret:inbound\.web\./).first().waitFor();
    assert.ok(!(await log(page).innerText()).includes("hunter2"));
    // Another tab has all of it, and hears what comes.
    const other = await visit(browser, server, "/chat");
    await log(other).getByText("came: Hello").waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("/help");
    await page.keyboard.press("Enter");
    await log(other).getByText("lists the commands, or explains one").waitFor();
    assert.deepEqual([...page.complaints, ...other.complaints], []);
  },

  /** A held call is approved where it is asked about, with the pointer. */
  async "approves a call in the chat"({ browser, server }) {
    const page = await visit(browser, server, "/chat");
    await page.getByRole("textbox", { name: "Message" }).fill("run echo pointer >> pointer");
    await page.keyboard.press("Enter");
    await page.locator(".chat-held").getByText("echo pointer >> pointer").waitFor();
    assert.ok(!fs.existsSync(files(server, "pointer")));
    await page.locator(".chat-held").getByRole("button", { name: "Approve" }).click();
    await page.locator(".chat-held").waitFor({ state: "detached" });
    await written(files(server, "pointer"), "pointer\n");
    await log(page).getByText(/came: .*"status":0/).waitFor();
    assert.deepEqual(page.complaints, []);
  },

  /** The same by keyboard alone, on a phone, in the dark; and by a word. */
  async "decides without a pointer, on a narrow page"({ browser, server }) {
    const page = await visit(browser, server, "/chat", PHONE);
    await page.locator(".chat-ask").waitFor();
    await tabTo(page, "Send");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.type("run echo keys >> keys");
    await page.keyboard.press("Enter");
    await page.locator(".chat-held").getByText("echo keys >> keys").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("a");
    await page.getByText("Press A again to approve.").waitFor();
    await page.keyboard.press("a");
    await written(files(server, "keys"), "keys\n");
    await page.locator(".chat-held").waitFor({ state: "detached" });
    await page.getByRole("textbox", { name: "Message" }).focus();
    await page.keyboard.type("run echo no >> never");
    await page.keyboard.press("Enter");
    await page.locator(".chat-held").getByText("echo no >> never").waitFor();
    await page.keyboard.type("no");
    await page.keyboard.press("Enter");
    await log(page).getByText("`shell` does not run.").or(log(page).getByText("does not run.")).first().waitFor();
    await page.locator(".chat-held").waitFor({ state: "detached" });
    assert.ok(!fs.existsSync(files(server, "never")));
    assert.deepEqual(page.complaints, []);
  },

  /** What was said stays while the server is away, and what was typed. */
  async "outlives the server"({ browser, server }) {
    const page = await visit(browser, server, "/chat");
    await page.getByRole("textbox", { name: "Message" }).fill("before");
    await page.keyboard.press("Enter");
    await log(page).getByText("came: before").waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("after");
    await server.kill();
    await page.getByText("Connection lost").waitFor();
    await server.start();
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "after");
    await page.getByRole("textbox", { name: "Message" }).press("Enter");
    await log(page).getByText("came: after").waitFor();
    assert.equal(await log(page).getByText("came: before").count(), 1);
  },

  /** A message that its channel refused is sent again from the dashboard, and arrives. */
  async "retries a message that was given up"({ browser, server, slack }) {
    slack.refuses = "not_in_channel";
    await server.say("tell slack by the pointer");
    const { approvals } = await server.until((state) => state.approvals.length > 0);
    await server.api("POST", `sessions/${approvals[0].session}/approvals/${approvals[0].call.id}`, { decision: "approve" });
    const page = await visit(browser, server, "/dashboard");
    const letter = page.locator(".dead-card").filter({ hasText: "by the pointer" });
    await letter.getByText("not_in_channel").first().waitFor();
    slack.refuses = null;
    await letter.getByRole("button", { name: "Retry" }).click();
    await letter.waitFor({ state: "detached" });
    await server.until((state) => state.outbox.queued === 0 && state.dead.length === 0);
    assert.ok(slack.sent.some((body) => body.includes("by") && body.includes("pointer")), JSON.stringify(slack.sent));
    assert.deepEqual(page.complaints, []);
  },

  /** The same by keyboard alone, on a phone: one is dropped in the list of dead letters. */
  async "drops a message without a pointer"({ browser, server, slack }) {
    slack.refuses = "channel_not_found";
    await server.say("tell slack nobody reads this");
    const { approvals } = await server.until((state) => state.approvals.length > 0);
    await server.api("POST", `sessions/${approvals[0].session}/approvals/${approvals[0].call.id}`, { decision: "approve" });
    await server.until((state) => state.dead.length > 0);
    const page = await visit(browser, server, "/chat", PHONE);
    await page.locator(".chat-ask").waitFor();
    await page.keyboard.press("Escape");
    await lead(page, "d", "^#/dead$");
    await page.locator(".dead-card").getByText("nobody reads this").waitFor();
    await tabTo(page, /^Drop message/);
    await page.keyboard.press("Enter");
    await page.getByText("Nothing was given up").waitFor();
    assert.equal((await server.api("GET", "state")).dead.length, 0);
    assert.deepEqual(page.complaints, []);
  },

  /** A schedule is paused with the pointer and goes on by keyboard, on a phone. */
  async "pauses a schedule, and lets it go on"({ browser, server }) {
    await server.say('/cron add every 2h "Look at the queue of orders"');
    await server.until((state) => state.cron.length === 1);
    const page = await visit(browser, server, "/dashboard");
    const row = page.getByRole("row").filter({ hasText: "Look at the queue of orders" });
    await row.getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused").waitFor();
    assert.equal((await server.api("GET", "state")).cron[0].enabled, false);
    const phone = await visit(browser, server, "/dashboard", PHONE);
    await phone.getByRole("row").filter({ hasText: "paused" }).waitFor();
    await tabTo(phone, /^Resume schedule/);
    await phone.keyboard.press("Enter");
    // The other page hears of it.
    await row.getByText("paused").waitFor({ state: "detached" });
    assert.equal((await server.api("GET", "state")).cron[0].enabled, true);
    assert.deepEqual([...page.complaints, ...phone.complaints], []);
  },

  /** A service is started anew: with the pointer, and by keyboard alone, on a phone, in the dark. */
  async "starts a service anew"({ browser, server }) {
    const since = async () => (await server.api("GET", "state")).services.find(({ name }) => name === "schedules").since;
    const restarted = (before) =>
      server.until(({ services }) => services.some(({ name, state, since }) => name === "schedules" && state === "running" && since > before));
    const page = await visit(browser, server, "/dashboard");
    const row = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: "schedules", exact: true }) });
    await row.getByText("running").waitFor();
    const first = await since();
    await row.getByRole("button", { name: "Restart schedules" }).click();
    await restarted(first);
    const phone = await visit(browser, server, "/dashboard", PHONE);
    await phone.getByRole("button", { name: "Restart schedules" }).waitFor();
    const second = await since();
    await tabTo(phone, "Restart schedules");
    await phone.keyboard.press("Enter");
    await restarted(second);
    assert.deepEqual([...page.complaints, ...phone.complaints], []);
  },

  /** Each view, wide and narrow, light and dark, against axe. */
  async "is accessible"({ browser, server, slack }) {
    slack.refuses = "not_in_channel";
    await server.say("run echo held >> held");
    await server.say("tell slack something that does not arrive");
    const { approvals } = await server.until((state) => state.approvals.length > 0);
    assert.ok(approvals.length > 0);
    const wrong = [];
    const look = async ([width, colorScheme]) => {
      const page = await visit(browser, server, "/chat", { width, height: width < 700 ? 844 : 900, colorScheme });
      for (const view of ["/chat", "/dashboard", "/dead", "/approvals"]) {
        await page.evaluate((to) => {
          location.hash = to;
        }, view);
        await page.locator("main h1").first().waitFor({ state: "attached" });
        await page.waitForTimeout(300);
        wrong.push(...(await accessible(page, `${view} at ${width} ${colorScheme}`)));
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (overflow > 0) wrong.push(`${view} at ${width} is ${overflow} pixels too wide`);
      }
      await page.context().close();
    };
    await Promise.all([[1440, "light"], [1440, "dark"], [900, "light"], [390, "light"], [390, "dark"], [320, "light"]].map(look));
    assert.equal(wrong.join("\n"), "");
  },
};

async function stage() {
  const slack = await new FakeSlack().start();
  return { slack, server: await new Agent(MODEL, slack.settings()).start() };
}

process.exit((await play(JOURNEYS, stage)) === 0 ? 0 : 1);
