/** What people do in the studio, in a real browser. `node journeys.mjs [NAME…]` runs all of it, or what is named. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import { ASKS } from "./asks.mjs";
import { HOSTILE, KINDS, LONG, large, OVEN, PAIR, SHOP, STALL, VAULT } from "./graphs.mjs";
import { accessible, asked, folderOf, lead, newContext, play, Server, show, sightOf, tabTo, TOKEN, visit } from "./harness.mjs";
import { KEYS } from "./keys.mjs";
import { SIZES } from "./sizes.mjs";

const menu = (folder) => path.join(folder, "tour/menu.md");

const JOURNEYS = {
  /** By keyboard alone: a new session, a name, a choice, the end. */
  async "walks the tour to its end"({ browser, server }) {
    const page = await visit(browser, server, "/g/tour");
    await page.getByRole("heading", { name: "Graph tour" }).waitFor({ state: "attached" });
    await page.keyboard.press("n");
    await page.getByRole("textbox", { name: "Name" }).fill("walker");
    await page.keyboard.press("Enter");
    await asked(page, "What is your name?");
    await page.keyboard.type("Ada");
    await page.keyboard.press("Enter");
    await asked(page, "Where to, Ada?");
    await page.keyboard.press("6");
    await page.locator(".ended").getByText("finished").waitFor();
    const { standing } = await server.api("GET", "sessions/walker");
    assert.equal(standing, "finished");
    assert.deepEqual(page.complaints, []);
  },

  async "answers every kind of question"({ browser, server }) {
    await server.session("kinds", "kinds");
    const page = await visit(browser, server, "/s/kinds");
    await asked(page, "Which colour?");
    await page.keyboard.press("2");
    await asked(page, "Is green what you want?");
    await page.keyboard.press("1");
    await asked(page, "How many?");
    // A refusal stands under the field, and what was typed stays.
    await page.keyboard.type("seven");
    await page.keyboard.press("Enter");
    await page.locator(".refusal").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "A whole number" }).inputValue(), "seven");
    await page.getByRole("textbox", { name: "A whole number" }).fill("7");
    await page.keyboard.press("Enter");
    await asked(page, "Which shape?");
    const shape = page.getByRole("textbox", { name: "Your answer, as JSON" });
    await shape.fill('{"width": 0}');
    await page.getByText("/width: must be at least 1").waitFor();
    await shape.fill('{"width": 3}');
    await page.keyboard.press("Control+Enter");
    await asked(page, "The password?");
    await page.getByLabel("Your answer, which is not shown").fill("tr3llis-secret");
    await page.keyboard.press("Enter");
    await page.locator(".ended").getByText("finished").waitFor();
    const kept = await page.evaluate(() => document.documentElement.outerHTML + JSON.stringify({ ...localStorage, ...sessionStorage }));
    assert.ok(!kept.includes("tr3llis-secret"));
    assert.deepEqual(page.complaints, []);
  },

  /** Of two who decide, the first counts; the second is told. */
  async "approves and denies in two browsers at once"({ browser, server }) {
    await server.session("shop", "ship", ["3"]);
    const [one, other] = await Promise.all([visit(browser, server, "/approvals"), visit(browser, server, "/s/ship")]);
    await other.getByText("Ship 3?").waitFor();
    await one.locator(".held-card").waitFor();
    // Both at once: neither waits until the other's decision has reached it.
    await Promise.all([
      one.evaluate(() => document.querySelectorAll(".decision-button")[0].click()),
      other.evaluate(() => document.querySelectorAll(".decision-button")[1].click()),
    ]);
    await one.getByText("Nothing waits for a decision").waitFor();
    const { items } = await server.api("GET", "sessions/ship/records");
    const decisions = items.filter(({ kind, result }) => kind === "approve" || result?.outcome?.denied !== undefined);
    assert.equal(decisions.length, 1, JSON.stringify(items));
    // The approved call is nobody's here: it shows as one to carry out; the denied one led on.
    await other.locator(".decision-button").first().waitFor({ state: "detached" });
  },

  async "carries out a call that has no binding"({ browser, server }) {
    await server.session("shop", "carry", ["2"]);
    const page = await visit(browser, server, "/s/carry");
    await page.getByText("Ship 2?").waitFor();
    // Twice, so that nobody hits it by chance.
    await page.locator("h1").click();
    await page.keyboard.press("a");
    await page.getByText("Press A again to approve.").waitFor();
    await page.keyboard.press("a");
    await page.getByRole("textbox", { name: "The result" }).fill('{"parcel": 12}');
    await page.getByRole("button", { name: "Give the result" }).click();
    await page.locator(".ended").getByText("finished").waitFor();
    const { stop } = await server.api("GET", "sessions/carry");
    assert.deepEqual(stop.payload.output, { parcel: 12 });
  },

  /** Of a session that somebody stopped, each page says so, also one that is loaded again. */
  async "stops what runs, and goes on with it"({ browser, server, folder }) {
    await server.session("oven", "cake");
    await server.api("POST", "sessions/cake/turns", { input: "plum" }, { Prefer: "wait=0" });
    const page = await visit(browser, server, "/s/cake");
    const head = page.locator(".session-head .standing");
    await head.getByText("calls").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await head.getByText("stopped").waitFor();
    await page.reload();
    await head.getByText("stopped").waitFor();
    fs.writeFileSync(path.join(folder, "oven/baked"), "");
    await page.getByRole("button", { name: "Go on", exact: true }).click();
    await page.locator(".ended").getByText("finished").waitFor();
    assert.deepEqual(page.complaints, []);
  },

  async "goes through time, back, and aside"({ browser, server }) {
    await server.session("kinds", "timely", ["red", true]);
    const page = await visit(browser, server, "/s/timely");
    await asked(page, "How many?");
    await page.locator("h1").click();
    await page.keyboard.press("[");
    await page.getByText("You look at record 1 of 2").waitFor();
    await show(page, "Time");
    await page.locator(".change").getByText("colour").waitFor();
    await page.getByRole("button", { name: "Fork here" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Fork" }).click();
    await page.waitForFunction(() => /#\/s\/timely-/.test(location.hash));
    await show(page, "Walk");
    await asked(page, "Is red what you want?");
    await page.evaluate(() => {
      location.hash = "/s/timely/@0";
    });
    await page.getByText("You look at record 0 of 2").waitFor();
    await page.getByRole("button", { name: "Go back to here" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Go back" }).click();
    await page.getByText("Went back to record 0: record 3.").waitFor();
    await asked(page, "Which colour?");
    await page.getByRole("button", { name: "Undo" }).click();
    await asked(page, "How many?");
    await show(page, "Time");
    await page.getByRole("button", { name: "Set" }).click();
    await page.getByLabel("Path, with dots").fill("colour");
    await page.getByLabel("Value, as JSON or as a text").fill("blue");
    await page.getByRole("dialog").getByRole("button", { name: "Set the context" }).click();
    await page.locator(".change").getByText("blue").waitFor();
    const { items } = await server.api("GET", "sessions/timely/records");
    assert.deepEqual(items.map(({ kind }) => kind), ["start", "input", "input", "move", "move", "context"]);
    assert.deepEqual(page.complaints, []);
  },

  /** Time by keyboard alone: a record back, a fork of it, and the way home. */
  async "forks and returns without a pointer"({ browser, server }) {
    await server.session("kinds", "keys", ["red", true]);
    const page = await visit(browser, server, "/s/keys");
    await asked(page, "How many?");
    await page.keyboard.press("Escape");
    await page.keyboard.press("[");
    await page.getByText("You look at record 1 of 2").waitFor();
    await tabTo(page, "Fork here");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "Fork");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /#\/s\/keys-/.test(location.hash));
    await asked(page, "Is red what you want?");
    await page.keyboard.press("1");
    await asked(page, "How many?");
    assert.deepEqual(page.complaints, []);
  },

  /** By keyboard alone, on a telephone: what waits is found, approved, and gone. */
  async "decides without a pointer, on a narrow page"({ browser, server }) {
    await server.session("shop", "narrow", ["4"]);
    const page = await visit(browser, server, "/approvals", { width: 390, height: 844, colorScheme: "dark" });
    await page.locator(".held-card").first().waitFor();
    await tabTo(page, /narrow/);
    await page.keyboard.press("Enter");
    await page.getByText("Ship 4?").waitFor();
    await tabTo(page, /Deny/);
    await page.keyboard.press("Enter");
    await page.locator(".decision-button").first().waitFor({ state: "detached" });
    const { items } = await server.api("GET", "sessions/narrow/records");
    assert.ok(items.some(({ result }) => result?.outcome?.denied !== undefined), JSON.stringify(items));
  },

  /** A call that was given up fails again, then is done, while another tab looks on. */
  async "retries a call that was given up"({ browser, server, folder }) {
    await server.session("stall", "stuck");
    const [page, other] = await Promise.all([visit(browser, server, "/dead"), visit(browser, server, "/sessions")]);
    const letter = page.locator(".dead-card").filter({ hasText: "stuck" });
    await letter.getByText("the line is down").first().waitFor();
    await other.getByRole("link", { name: /Dead letters/ }).waitFor();
    await letter.getByRole("button", { name: "Retry charge of stuck" }).click();
    await letter.getByText("It failed again").waitFor();
    const down = path.join(folder, "stall/down");
    fs.rmSync(down);
    await letter.getByRole("button", { name: "Retry charge of stuck" }).click();
    await letter.waitFor({ state: "detached" });
    fs.writeFileSync(down, "");
    await other.getByRole("link", { name: /Dead letters/ }).waitFor({ state: "detached" });
    assert.deepEqual((await server.api("GET", "dead-letters")).items, []);
    assert.deepEqual([...page.complaints, ...other.complaints], []);
  },

  /** By keyboard alone, on a phone, in the dark: a letter is found by its words, and dropped. */
  async "drops a dead letter without a pointer"({ browser, server }) {
    await server.session("stall", "one");
    await server.session("stall", "two");
    const page = await visit(browser, server, "/sessions", { width: 390, height: 844, colorScheme: "dark" });
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
    await lead(page, "d", "^#/dead$");
    await page.locator(".dead-card").nth(1).waitFor();
    await page.getByRole("searchbox").focus();
    await page.keyboard.type("two");
    await page.locator(".dead-card").nth(1).waitFor({ state: "detached" });
    await tabTo(page, "Drop charge of two");
    await page.keyboard.press("Enter");
    await page.getByText("No dead letter has these words").or(page.locator(".dead-card").filter({ hasText: "one" })).first().waitFor();
    const { items } = await server.api("GET", "dead-letters");
    assert.deepEqual(items.map(({ session }) => session), ["one"]);
    await server.api("DELETE", `dead-letters/${items[0].key}?graph=stall`);
    await page.getByText("Nothing was given up").waitFor();
    assert.deepEqual(page.complaints, []);
  },

  /** A fork is removed under the eyes of somebody who looks at it. */
  async "says that a session is gone"({ browser, server }) {
    const { seq } = await server.session("kinds", "doomed", ["red"]);
    const page = await visit(browser, server, "/s/doomed");
    await asked(page, "Is red what you want?");
    assert.equal(await server.api("DELETE", "sessions/doomed?open=true", undefined, { "If-Match": `"${seq}"` }), null);
    await page.getByText(/no session/i).first().waitFor();
    assert.deepEqual(page.complaints, []);
  },

  /** A mistake is saved and mended while an answer is typed; the answer stays. */
  async "sees a mistake as it is saved, and its mending"({ browser, server, folder }) {
    await server.session("tour", "typing");
    const page = await visit(browser, server, "/s/typing");
    await asked(page, "What is your name?");
    await page.keyboard.type("Ad");
    const text = fs.readFileSync(menu(folder), "utf8");
    fs.writeFileSync(menu(folder), text.replace("jump_to: words", "jump_to: wrods"));
    await page.locator(".pill").getByText("broken").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Your answer" }).inputValue(), "Ad");
    await page.locator(".pill").click();
    await page.locator(".finding.is-chosen .source").waitFor();
    await page.locator(".finding-message").getByText("wrods").first().waitFor();
    fs.writeFileSync(menu(folder), text);
    await page.getByText("Nothing is wrong").waitFor();
    await page.goBack();
    await asked(page, "What is your name?");
    const field = page.getByRole("textbox", { name: "Your answer" });
    assert.equal(await field.inputValue(), "Ad");
    await field.press("End");
    await page.keyboard.type("a");
    await page.keyboard.press("Enter");
    await asked(page, "Where to, Ada?");
  },

  /** The graph is edited so that the next node reads what this session never wrote: it asks for that at once. */
  async "asks for what an edit needs"({ browser, server, folder }) {
    await server.session("kinds", "needy", ["red"]);
    const page = await visit(browser, server, "/s/needy");
    await asked(page, "Is red what you want?");
    const files = ["start.md", "many.md"].map((name) => path.join(folder, "kinds", name));
    const texts = files.map((file) => fs.readFileSync(file, "utf8"));
    fs.writeFileSync(files[0], texts[0].replace("to: sure", "set: {shade: dark}\nto: sure"));
    fs.writeFileSync(files[1], texts[1].replace("How many?", "How many {{ shade }} ones?"));
    await page.getByText("needs what this session does not have").waitFor();
    await page.getByLabel("shade").fill("pale");
    await page.keyboard.press("Enter");
    await page.locator(".here-ask").getByRole("button", { name: "Yes" }).waitFor();
    await page.keyboard.press("1");
    await asked(page, "How many pale ones?");
    fs.writeFileSync(files[1], texts[1]);
    fs.writeFileSync(files[0], texts[0]);
    assert.deepEqual(page.complaints, []);
  },

  async "outlives the server"({ browser, folder }) {
    const server = await new Server(folder).start();
    await server.session("tour", "lost");
    const page = await visit(browser, server, "/s/lost");
    await asked(page, "What is your name?");
    await page.keyboard.type("Ada");
    await server.kill();
    await page.getByText("Connection lost").waitFor();
    await page.locator(".here-scroll").getByText("What is your name?").waitFor();
    await server.start();
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    assert.equal(await page.getByRole("textbox", { name: "Your answer" }).inputValue(), "Ada");
    await page.getByRole("textbox", { name: "Your answer" }).press("Enter");
    await asked(page, "Where to, Ada?");
    await server.kill();
  },

  /** The program is another one after its restart, so that its page is another one too. */
  async "offers the page of another version"({ browser, folder }) {
    const server = await new Server(folder).start();
    const context = await newContext(browser);
    let tag = '"one"';
    const answer = (route) => (route.request().method() === "HEAD" ? route.fulfill({ headers: { ETag: tag } }) : route.fallback());
    await context.route("**/studio.js", answer);
    const page = await visit(browser, server, "/sessions", { context });
    const reload = page.getByRole("button", { name: "Reload this page" });
    const restart = async () => {
      await server.kill();
      await page.getByText("Connection lost").waitFor();
      const compared = page.waitForResponse((response) => response.request().method() === "HEAD");
      await server.start();
      await page.getByText("Connection lost").waitFor({ state: "detached" });
      await compared;
    };
    await restart();
    assert.equal(await reload.count(), 0);
    tag = '"two"';
    await restart();
    await page.getByText("another version of this page").waitFor();
    await Promise.all([page.waitForEvent("load"), reload.click()]);
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
    assert.equal(await reload.count(), 0);
    await context.close();
    await server.kill();
  },

  async "keeps what was typed where another tab answered"({ browser, server }) {
    await server.session("kinds", "twice", ["red", true]);
    const [one, other] = await Promise.all([visit(browser, server, "/s/twice"), visit(browser, server, "/s/twice")]);
    await asked(one, "How many?");
    await asked(other, "How many?");
    await other.getByRole("textbox").last().fill("8");
    // The other one hears nothing of it, and sends what it has.
    await other.route("**/api/events**", (route) => route.abort());
    await one.getByRole("textbox").last().fill("7");
    await one.keyboard.press("Enter");
    await asked(one, "Which shape?");
    await asked(other, "Which shape?");
    const { items } = await server.api("GET", "sessions/twice/records");
    assert.equal(items.length, 4);
  },

  /** Seven tabs of one browser share one stream; the next tab takes over from one that is closed. */
  async "shows one session in seven tabs"({ browser, server }) {
    await server.session("tour", "seven");
    const context = await newContext(browser);
    const pages = [];
    for (let tab = 0; tab < 7; tab += 1) pages.push(await visit(browser, server, "/s/seven", { context }));
    for (const page of pages) await asked(page, "What is your name?");
    await pages[0].close();
    await server.api("POST", "sessions/seven/turns", { input: "Ada" });
    for (const page of pages.slice(1)) await asked(page, "Where to, Ada?");
    await context.close();
  },

  async "runs nothing that a graph says"({ browser, server }) {
    await server.session("hostile", "hostile");
    const page = await visit(browser, server, "/s/hostile");
    await asked(page, "Hostile");
    for (const link of await page.locator(".here-scroll a").all()) assert.doesNotMatch((await link.getAttribute("href")) ?? "", /script/);
    await page.keyboard.press("1");
    await page.locator(".ended").waitFor();
    await page.evaluate(() => {
      location.hash = "/g/hostile?node=start";
    });
    await page.locator(".sheet").getByText("alert").or(page.locator(".sheet .prose")).first().waitFor();
    assert.equal(await page.evaluate(() => window.tricked), undefined);
    assert.deepEqual(page.complaints, []);
  },

  async "asks for the token, and takes it out of the address"({ browser, server }) {
    const context = await newContext(browser);
    const page = await context.newPage();
    await page.goto(`${server.address}/`);
    await page.getByRole("heading", { name: "This server wants its token" }).waitFor();
    await page.getByLabel("Token or address").fill(`${server.address}/#${TOKEN}`);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Graphs", exact: true }).waitFor();
    await page.goto("about:blank");
    await page.goto(`${server.address}/#${TOKEN}`);
    await page.getByRole("heading", { name: "Graphs", exact: true }).waitFor();
    assert.ok(!page.url().includes(TOKEN));
    // An address may name a view too, as editors open the studio at a node (`editors/vscode/README.md`).
    for (const fragment of [`token=${TOKEN}&/g/tour?node=menu`, `token%3D${TOKEN}%26/g/tour%3Fnode%3Dmenu`]) {
      const other = await (await newContext(browser)).newPage();
      await other.goto(`${server.address}/#${fragment}`);
      await other.getByRole("heading", { name: "Graph tour" }).waitFor({ state: "attached" });
      assert.equal(new URL(other.url()).hash, "#/g/tour?node=menu");
      await other.context().close();
    }
    await context.close();
  },

  /** A link with a wrong token signs nobody out, however many come, and shuts nobody out. */
  async "keeps its token when a link has a wrong one"({ browser, server }) {
    const wrong = "0".repeat(64);
    const kept = () => ["localStorage", "sessionStorage"].map((place) => window[place].getItem("trellis-token"));
    const page = await (await newContext(browser)).newPage();
    await page.goto(`${server.address}/#${TOKEN}`);
    await page.getByRole("heading", { name: "Graphs", exact: true }).waitFor();
    const before = await page.evaluate(kept);
    for (const fragment of [...Array(12).fill(wrong), `token=${wrong}&/g/tour`, "%"]) {
      await page.goto("about:blank");
      await page.goto(`${server.address}/#${fragment}`);
      await page.getByRole("heading", { name: fragment.includes("&") ? "Graph tour" : "Graphs" }).waitFor({ state: "attached" });
      assert.deepEqual(await page.evaluate(kept), before);
      assert.ok(!page.url().includes(wrong));
    }
    // Nor does another one that is known there.
    await page.route("**/api/explain/unauthenticated", (route) => route.fulfill({ status: 200, body: "{}" }));
    await page.goto("about:blank");
    await page.goto(`${server.address}/#${wrong}`);
    await page.getByRole("heading", { name: "Graphs", exact: true }).waitFor({ state: "attached" });
    assert.deepEqual(await page.evaluate(kept), before);
    await page.context().close();
    // Without one that is known, it says so, and takes one that is.
    const other = await (await newContext(browser)).newPage();
    await other.goto(`${server.address}/#${wrong}`);
    await other.getByText("is not known there").waitFor();
    assert.deepEqual(await other.evaluate(kept), [null, null]);
    await other.getByLabel("Token or address").fill(wrong.slice(1));
    await other.keyboard.press("Enter");
    await other.getByText("is not known there").waitFor();
    await other.getByLabel("Token or address").fill(TOKEN);
    await other.keyboard.press("Enter");
    await other.getByRole("heading", { name: "Graphs", exact: true }).waitFor();
    await other.context().close();
  },

  /** A page from elsewhere may lead here, and can do nothing here. */
  async "opens by a link, and obeys no other page"({ browser, server }) {
    const before = (await server.api("GET", "sessions")).items.length;
    const page = await (await newContext(browser)).newPage();
    await page.route("http://elsewhere.example/**", (route) => route.fulfill({ contentType: "text/html", body: `<a href="${server.address}/#${TOKEN}">studio</a>` }));
    await page.goto("http://elsewhere.example/");
    const status = await page.evaluate(
      ([address, token]) =>
        fetch(`${address}/api/sessions`, { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: '{"graph":"tour"}' + token.slice(64) }).then(
          (response) => response.type,
          () => "refused",
        ),
      [server.address, TOKEN],
    );
    assert.ok(["opaque", "refused"].includes(status));
    assert.equal((await server.api("GET", "sessions")).items.length, before);
    await page.getByRole("link", { name: "studio" }).click();
    await page.getByRole("heading", { name: "Graphs", exact: true }).waitFor();
  },

  async "finds by a few letters"({ browser, server }) {
    const page = await visit(browser, server, "/g/tour");
    await page.locator(".node").first().waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("bridgge");
    await page.getByRole("option", { name: "tools/bridge" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".sheet").getByRole("heading", { name: "tools/bridge" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".sheet").waitFor({ state: "detached" });
    // Tab shows it beside: the words stay, and so does what is shown when the search is closed.
    await page.keyboard.press("Control+k");
    await page.keyboard.type("menu");
    await page.getByRole("option", { name: "menu", selected: true }).waitFor();
    await page.keyboard.press("Tab");
    await page.locator(".sheet h2").getByText("menu", { exact: true }).waitFor();
    assert.equal(await page.getByRole("combobox").inputValue(), "menu");
    assert.ok(await page.getByRole("combobox").evaluate((field) => field === document.activeElement));
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "menu", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".sheet").waitFor({ state: "detached" });
    await lead(page, "s", "^#/sessions$");
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
  },

  async "moves in the drawing by keys"({ browser, server }) {
    const page = await visit(browser, server, "/g/kinds");
    const drawing = page.locator(".drawing");
    const node = (id) => page.locator(`.node[data-node="${id}"]`);
    const focused = () => page.evaluate(() => document.activeElement.dataset.node ?? document.activeElement.ariaLabel);
    const press = async (key, times = 1) => {
      for (let presses = 0; presses < times; presses += 1) await page.keyboard.press(key);
      return sightOf(page);
    };
    await node("start").focus();
    // Tab goes along the edges.
    for (const id of ["sure", "many", "shape", "word", "done"]) {
      await page.keyboard.press("Tab");
      assert.equal(await focused(), id);
    }
    const whole = await press("f");
    const near = await press("+");
    assert.ok(Math.abs(near.k - whole.k * 1.25) < 0.002, `${near.k}`);
    assert.deepEqual(await press("-"), whole);
    assert.equal((await press("0")).k, 1);
    const { x, y } = await press("f");
    assert.deepEqual([x, y], [whole.x, whole.y]);
    assert.equal((await press("ArrowLeft")).x, x + 60);
    assert.equal((await press("ArrowRight", 2)).x, x - 60);
    assert.equal((await press("ArrowUp")).y, y + 60);
    assert.equal((await press("ArrowDown", 2)).y, y - 60);
    // From so far that no node can be read, the keys lead back.
    await press("-", 12);
    await node("done").waitFor({ state: "detached" });
    assert.equal(await focused(), "Drawing of kinds");
    assert.deepEqual(await press("f"), whole);
    // What Tab reaches comes in sight; the drawing itself does not scroll.
    await node("start").focus();
    await press("+", 5);
    for (const id of ["sure", "many", "shape"]) {
      await page.keyboard.press("Tab");
      await sightOf(page);
      const [frame, box] = [await drawing.boundingBox(), await node(id).boundingBox()];
      assert.ok(box.y >= frame.y && box.y + box.height <= frame.y + frame.height, `${id} is out of sight`);
    }
    assert.equal(await drawing.evaluate(({ scrollTop, scrollLeft }) => scrollTop + scrollLeft), 0);
    await page.keyboard.press("Enter");
    await page.locator(".sheet").getByRole("heading", { name: "shape" }).waitFor();
    assert.equal(await focused(), "shape");
    // The module of a node is folded, and opened again where the focus went.
    await page.evaluate(() => {
      location.hash = "/g/tour";
    });
    const inside = page.locator('.node[data-node^="tools/"]');
    await inside.first().focus();
    await page.keyboard.press("c");
    await page.locator('.module-folded[data-module="tools"]:focus').waitFor();
    await inside.first().waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await inside.first().waitFor();
    assert.deepEqual(page.complaints, []);
  },

  async "draws a thousand nodes folded, and opens them"({ browser, server }) {
    const page = await visit(browser, server, "/g/large");
    await page.locator(".module-folded").first().waitFor();
    await page.getByRole("searchbox", { name: "Filter nodes" }).fill("m7/n12");
    await page.locator(".outline-node").first().click();
    await page.locator(".node-selected").waitFor();
    await page.locator(".sheet").getByRole("heading", { name: "m7/n12" }).waitFor();
    assert.deepEqual(page.complaints, []);
  },

  async "scrolls through ten thousand records"({ browser, server }) {
    const { seq } = await server.session("long", "long");
    assert.ok(seq > 10_000, String(seq));
    const page = await visit(browser, server, "/s/long");
    await asked(page, "All of it is passed.");
    await show(page, "Time");
    await page.locator(".record").last().waitFor();
    await page.keyboard.press("Escape");
    await page.locator("h1").click();
    await page.keyboard.press("Home");
    await page.getByText("You look at record 0").waitFor();
    await page.getByRole("button", { name: /^Record 5 / }).waitFor();
    assert.ok((await page.locator(".record").count()) < 80);
    await page.keyboard.press("End");
    await page.getByRole("button", { name: new RegExp(`^Record ${seq - 1} `) }).waitFor();
  },

  /** Each view, wide and narrow, light and dark, against axe. `EVERY_SIZE` looks at each size in each light. */
  async "is accessible"({ browser, server, folder }) {
    await server.session("tour", "open", ["Ada"]);
    await server.session("shop", "held", ["3"]);
    await server.session("stall", "given-up");
    const text = fs.readFileSync(path.join(folder, "kinds/done.md"), "utf8");
    fs.writeFileSync(path.join(folder, "kinds/done.md"), text.replace("many", "mnay"));
    const views = ["/", "/g/tour", "/g/tour?node=menu", "/g/kinds/problems", "/sessions", "/approvals", "/dead", "/s/open", "/s/open/@1", "/s/held", "/s/open/answer"];
    const wrong = [];
    const others = process.env.EVERY_SIZE ? [[1440, "dark"], [900, "light"], [390, "light"]] : [];
    const look = async ([width, colorScheme]) => {
      const page = await visit(browser, server, "/", { width, height: width < 700 ? 844 : 900, colorScheme });
      for (const view of views) {
        await page.evaluate((to) => {
          location.hash = to;
        }, view);
        await page.locator("main h1").first().waitFor({ state: "attached" });
        await page.waitForTimeout(400);
        wrong.push(...(await accessible(page, `${view} at ${width} ${colorScheme}`)));
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (overflow > 0) wrong.push(`${view} at ${width} is ${overflow} pixels too wide`);
      }
      await page.keyboard.press("?");
      wrong.push(...(await accessible(page, `keys at ${width} ${colorScheme}`)));
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await page.keyboard.type("open");
      await page.getByRole("option", { selected: true }).waitFor();
      await page.keyboard.press("Tab");
      await page.locator(".is-beside").waitFor();
      wrong.push(...(await accessible(page, `search at ${width} ${colorScheme}`)));
      await page.context().close();
    };
    await Promise.all([[1440, "light"], [390, "dark"], [320, "light"], ...others].map(look));
    fs.writeFileSync(path.join(folder, "kinds/done.md"), text);
    assert.equal(wrong.join("\n"), "");
  },
};

async function stage() {
  const folder = folderOf(["tour"], { ...KINDS, ...SHOP, ...HOSTILE, ...LONG, ...STALL, ...OVEN, ...PAIR, ...VAULT, ...large(1000) });
  return { folder, server: await new Server(folder).start() };
}

// Views are held to axe in sizes and colours of their own, in whatever form the journeys are played.
const { "is accessible": views, ...others } = JOURNEYS;
const failures = await play({ ...others, ...KEYS, ...SIZES, ...ASKS, ...(process.env.FORM ? {} : { "is accessible": views }) }, stage);
process.exit(failures === 0 ? 0 : 1);
