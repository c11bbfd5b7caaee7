/** What people do on the page that a chat shows beside a session (`docs/mcp.md#beside-the-chat`). `node guest.mjs [NAME…]` runs all of it, or what is
 * named. */

import assert from "node:assert/strict";
import path from "node:path";
import { gzipSync } from "node:zlib";

import { ABILITIES, Chat } from "./chat.mjs";
import { HOSTILE, KINDS, SHOP } from "./graphs.mjs";
import { folderOf, play, Server } from "./harness.mjs";

/** Takes a picture, where somebody wants to look. */
async function shot(chat, name) {
  const folder = process.env.TRELLIS_SHOTS;
  if (folder === undefined) return;
  await chat.fits();
  await chat.page.screenshot({ path: path.join(folder, `guest-${name}.png`), fullPage: true });
}

const GROUNDS = { light: "rgb(255, 255, 255)", dark: "rgb(28, 31, 35)" };

const JOURNEYS = {
  /** With a choice, to the end, in both lives of the protocol; the model is told, and has the last word. */
  async "walks the tour to its end"({ browser, server }) {
    for (const era of ["auto", "legacy"]) {
      const chat = await Chat.open(browser, server, { era });
      const { session } = await chat.walk("tour");
      await chat.said("What is your name?");
      await shot(chat, "text-light");
      await chat.field("Your answer").fill("Ada");
      await chat.button("Send").click();
      await chat.said("Where to, Ada?");
      // Headings and code are HTML that the server made.
      await chat.shown.getByRole("heading", { name: "Where to, Ada?" }).waitFor();
      await shot(chat, "choice-light");
      assert.match(chat.told.context.at(-1).content[0].text, new RegExp(`The person answered .*Where to, Ada.*session ${session}, seq `, "s"));
      assert.ok(!JSON.stringify(chat.told.context).includes('"Ada"'), "what was typed is nobody's but the session's");
      await chat.button("6 Leave the tour").click();
      await chat.shown.locator(".ended").getByText("finished").waitFor();
      await shot(chat, "end-light");
      assert.deepEqual((await chat.call("render_state", { session })).structuredContent.output, { name: "Ada", seen: [] });
      await chat.button("Go on in the chat").click();
      await chat.button("Go on in the chat").waitFor({ state: "detached" });
      assert.equal(chat.told.message[0].content[0].text, `The session ${session} is over: go on from what it came to.`);
      const { contents } = await chat.client.readResource({ uri: "ui://trellis/session" });
      assert.ok(gzipSync(contents[0].text).length <= 40 * 1024, "a page for a chat is small");
      await chat.close();
    }
  },

  /** Each kind of question; what is refused says why, and what was typed stays; a secret has no field here. */
  async "answers every kind of question but secrets"({ browser, server }) {
    const chat = await Chat.open(browser, server);
    const { session } = await chat.walk("kinds");
    await chat.said("Which colour?");
    await chat.button("2 Green").click();
    await chat.said("Is green what you want?");
    await chat.button("1 Yes").click();
    await chat.said("How many?");
    await chat.field("A whole number").fill("seven");
    await chat.button("Send").click();
    await chat.shown.locator(".refusal").waitFor();
    assert.equal(await chat.field("A whole number").inputValue(), "seven");
    await shot(chat, "refused-light");
    await chat.field("A whole number").fill("7");
    await chat.button("Send").click();
    await chat.said("Which shape?");
    await chat.field("Your answer, as JSON").fill('{"width": 0}');
    await chat.shown.getByText("/width: must be at least 1").waitFor();
    await chat.button("Send").click();
    await chat.shown.locator(".refusal").waitFor();
    await chat.field("Your answer, as JSON").fill('{"width": 3}');
    await chat.button("Send").click();
    await chat.said("The password?");
    await chat.shown.getByText("A secret is asked for.").waitFor();
    await chat.shown.getByText(`trellis run --session ${session}`).waitFor();
    assert.equal(await chat.shown.locator("input, textarea, [contenteditable]").count(), 0, "there is no field");
    await shot(chat, "secret-light");
    await server.api("POST", `sessions/${session}/turns`, { input: "tr3llis-secret" });
    await chat.button("Look again").click();
    await chat.shown.locator(".ended").getByText("finished").waitFor();
    assert.ok(!JSON.stringify(chat.told).includes("tr3llis-secret"));
    await chat.close();
  },

  /** An approval is shown, and decided elsewhere: by the form of a chat that has forms, which asks nothing that the page asks. */
  async "shows approvals without buttons"({ browser, server }) {
    const chat = await Chat.open(browser, server);
    const { session } = await chat.walk("shop");
    await chat.field("A whole number").fill("3");
    await chat.button("Send").click();
    await chat.shown.getByText("Ship 3?").waitFor();
    const names = await chat.shown.getByRole("button").allTextContents();
    assert.deepEqual([names, await chat.shown.locator("input, textarea").count()], [["Look again"], 0]);
    await shot(chat, "approval-light");
    const [held] = (await server.api("GET", "approvals")).items.filter((item) => item.session === session);
    await server.api("POST", `sessions/${session}/approvals/${held.call.id}`, { decision: "approve" });
    await chat.button("Look again").click();
    // The call itself is the model's.
    await chat.shown.getByText("The model of this chat carries out the next call").waitFor();
    assert.equal(await chat.shown.locator("input, textarea").count(), 0);
    await shot(chat, "call-light");
    await chat.button("Go on in the chat").click();
    await chat.button("Go on in the chat").waitFor({ state: "detached" });
    const { seq } = (await chat.call("render_state", { session })).structuredContent;
    await chat.call("navigate", { session, seq, tool_result: { id: held.call.id, result: 7 } });
    await chat.button("Look again").click();
    await chat.shown.locator(".ended").getByText("finished").waitFor();
    await chat.close();
    for (const era of ["auto", "legacy"]) {
      const asking = await Chat.open(browser, server, { era, decision: "deny" });
      await asking.walk("shop");
      await asking.field("A whole number").fill("4");
      await asking.button("Send").click();
      await asking.said("You left.");
      assert.deepEqual(asking.told.form.map(({ requestedSchema }) => Object.keys(requestedSchema.properties)), [["decision"]], `${era}: one form, for the approval`);
      await asking.close();
    }
  },

  /** Somebody else answered: the present question is shown, and what was typed stays. */
  async "asks anew what was answered elsewhere"({ browser, server }) {
    const chat = await Chat.open(browser, server);
    const { session, seq } = await chat.walk("tour");
    await chat.field("Your answer").fill("Bea");
    await chat.call("navigate", { session, seq, input: "Ada" });
    await chat.button("Send").click();
    await chat.said("Where to, Ada?");
    await chat.shown.getByText("Asked anew").waitFor();
    assert.equal((await chat.call("render_state", { session })).structuredContent.said[0].node, "menu");
    const twice = await chat.walk("twice");
    await chat.field("Your answer").fill("Bea");
    await chat.call("navigate", { session: twice.session, seq: twice.seq, input: "Ada" });
    await chat.button("Send").click();
    await chat.said("And of Ada?");
    await chat.shown.getByText("Asked anew").waitFor();
    assert.equal(await chat.field("Your answer").inputValue(), "Bea");
    await chat.close();
  },

  /** What goes on by itself is looked at until it asks; a result without metadata is read as it is. */
  async "follows what goes on by itself"({ browser, server }) {
    const chat = await Chat.open(browser, server);
    const running = { type: "RUNNING", payload: { node: "start", since: Date.now(), call: { id: "c1", name: "bake", attempt: 1 } } };
    await chat.walk("kinds", {}, ({ content, structuredContent }) => ({ content, structuredContent: { ...structuredContent, said: [], stop: running } }));
    await chat.shown.locator(".running").getByText("bake").waitFor();
    assert.equal(await chat.shown.getByRole("button").count(), 0, "nobody stops it here");
    await chat.said("Which colour?");
    await chat.close();
    const cancelled = await Chat.open(browser, server);
    await cancelled.walk("kinds", {}, () => ({ content: [{ type: "text", text: "no session" }], isError: true }));
    await cancelled.shown.getByText("no session").waitFor();
    await cancelled.page.evaluate(() => window.cancel("enough"));
    await cancelled.shown.getByText("The call was cancelled.").waitFor();
    await cancelled.close();
  },

  /** Texts of a graph can run nothing; nor can a result that another one made, although the chat allows inline scripts. */
  async "runs nothing that was said"({ browser, server }) {
    const chat = await Chat.open(browser, server);
    await chat.walk("hostile");
    await chat.said("Hostile");
    await chat.shown.getByText("link", { exact: true }).click();
    const frame = await chat.frame();
    assert.equal(await frame.evaluate(() => window.tricked), undefined);
    assert.deepEqual(chat.told.link, [], "no address but those of the web and of mail");
    await chat.close();
    const forged = await Chat.open(browser, server);
    const html = '<img src="http://evil.test/" onerror="window.tricked = true"><script>window.tricked = true</script><svg onload="window.tricked = true"></svg><a href="https://docs.test/x">more</a>';
    await forged.walk("kinds", {}, (result) => ({ ...result, _meta: { "trellis/turn": { ...result._meta["trellis/turn"], said: [{ node: "start", text: "x", html }] } } }));
    await forged.shown.getByText("more").click();
    assert.equal(await (await forged.frame()).evaluate(() => window.tricked), undefined);
    assert.equal(forged.told.link[0].url, "https://docs.test/x", "links are opened by the chat");
    assert.ok(forged.complaints.length >= 2 && forged.complaints.every((text) => text.includes("Content Security Policy")), forged.complaints.join("\n"));
    assert.deepEqual(forged.foreign, [], "nothing is loaded");
    forged.complaints.length = 0;
    await forged.close();
  },

  /** By Tab, Enter and digits alone; the focus is the chat's until somebody enters the page, and the question's from then on. */
  async "is answered by keyboard"({ browser, server }) {
    const chat = await Chat.open(browser, server);
    await chat.walk("tour");
    await chat.said("What is your name?");
    assert.equal(await chat.page.evaluate(() => document.activeElement.tagName), "BODY", "it takes no focus");
    const frame = await chat.frame();
    for (let presses = 0; presses < 20 && !(await frame.evaluate(() => document.activeElement.matches("textarea"))); presses += 1) await chat.page.keyboard.press("Tab");
    await chat.page.keyboard.type("Ada");
    await chat.page.keyboard.press("Enter");
    await chat.said("Where to, Ada?");
    await chat.page.keyboard.press("6");
    await chat.shown.locator(".ended").getByText("finished").waitFor();
    await chat.close();
  },

  /** Light and dark as the chat says, wide and narrow: nothing for axe to find, nothing to scroll sideways, as high as what it says. */
  async "fits the chat"({ browser, server }) {
    const found = [];
    for (const [theme, width] of [["light", 720], ["dark", 320]]) {
      const chat = await Chat.open(browser, server, { theme, width });
      await chat.walk("tour");
      await chat.said("What is your name?");
      const frame = await chat.frame();
      const look = async (what) => {
        found.push(...(await chat.violations(`${what} ${theme} ${width}`)));
        await chat.fits();
        const [wide, ground] = await frame.evaluate(() => [document.documentElement.scrollWidth - innerWidth, getComputedStyle(document.body).backgroundColor]);
        assert.ok(wide <= 0, `${what} ${theme} ${width}: ${wide} too wide`);
        assert.equal(ground, GROUNDS[theme]);
        await shot(chat, `${what}-${theme}-${width}`);
      };
      await look("text");
      await chat.field("Your answer").fill("Ada");
      await chat.button("Send").click();
      await chat.said("Where to, Ada?");
      await look("choice");
      await chat.walk("shop");
      await chat.field("A whole number").fill("x");
      await chat.button("Send").click();
      await chat.shown.locator(".refusal").waitFor();
      await chat.field("A whole number").fill("3");
      await chat.button("Send").click();
      await chat.shown.getByText("Ship 3?").waitFor();
      found.push(...(await chat.violations(`approval ${theme} ${width}`)));
      await shot(chat, `approval-${theme}-${width}`);
      const other = theme === "dark" ? "light" : "dark";
      await chat.page.evaluate((next) => window.adapt({ theme: next }), other);
      await (await chat.frame()).waitForFunction((ground) => getComputedStyle(document.body).backgroundColor === ground, GROUNDS[other]);
      await chat.close();
    }
    assert.deepEqual(found, []);
  },

  /** A chat that hands no calls on: the page shows, and says where to answer. */
  async "only shows where a chat takes no answers"({ browser, server }) {
    const { serverTools: _, ...abilities } = ABILITIES;
    const chat = await Chat.open(browser, server, { abilities });
    await chat.walk("kinds");
    await chat.shown.getByText("answer in the chat itself").waitFor();
    assert.ok(await chat.button("Red").isDisabled());
    await chat.close();
  },
};

/** Two questions of one kind. */
const TWICE = {
  "twice/start.md": "---\ninput_type: text\nsave_to: name\nto: then\n---\nThe name?\n",
  "twice/then.md": "---\ninput_type: text\nto: end\n---\nAnd of {{ name }}?\n",
  "twice/end.md": "Thank you.\n",
};

const stage = async () => ({ server: await new Server(folderOf(["tour"], { ...KINDS, ...SHOP, ...HOSTILE, ...TWICE })).start() });

process.exit((await play(JOURNEYS, stage)) === 0 ? 0 : 1);
