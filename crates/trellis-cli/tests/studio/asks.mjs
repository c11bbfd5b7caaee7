/** What is asked, by whom, and as of when: children side by side, their past, secrets of calls, and edits of a question. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import { accessible, asked, show, visit } from "./harness.mjs";

export const ASKS = {
  /** Each says what it asks, is refused where it was answered, and goes on asking while others are answered (`docs/studio.md#a-session`). */
  async "answers children that ask side by side"({ browser, server }) {
    const { stop: call } = await server.session("pair", "pair");
    const page = await visit(browser, server, "/s/pair");
    await asked(page, "All of it is counted.");
    const waits = page.locator(".others details");
    const chairs = waits.filter({ hasText: "How many chairs?" });
    await waits.filter({ hasText: "How many lamps?" }).waitFor();
    await chairs.locator("summary").click();
    await chairs.locator(".said").getByText("How many chairs?").waitFor();
    assert.equal(await page.locator(".here-scroll").getByText("chairs").count(), 0, "what asks beside is not said above");
    const field = chairs.getByRole("textbox", { name: "A whole number" });
    await field.fill("many");
    await field.press("Enter");
    const refusal = chairs.getByRole("alert");
    await refusal.getByText("is not a whole number").waitFor();
    assert.equal(await page.locator(".refusal").count(), 1);
    const [above, below] = [await field.boundingBox(), await refusal.boundingBox()];
    assert.ok(below.y >= above.y + above.height, "the refusal stands under the field");
    assert.equal(await field.inputValue(), "many");
    assert.deepEqual(await accessible(page, "children that ask"), []);
    // Somebody else answers the call above; the question beside stays, and so does the focus of who types.
    await field.fill("1");
    await server.api("POST", "sessions/pair/turns", { tool_result: { id: call.payload.id, result: 3 } });
    await asked(page, "How many lamps?");
    assert.equal(await field.evaluate((element) => element === document.activeElement), true, "the focus stays while one types");
    await page.keyboard.type("2");
    await page.keyboard.press("Enter");
    await chairs.waitFor({ state: "detached" });
    const first = page.getByRole("textbox", { name: "A whole number" });
    assert.equal(await first.inputValue(), "");
    assert.equal(await page.locator(".here-scroll .exchange").getByText("How many lamps?").count(), 0, "what is asked still is no past");
    await first.fill("7");
    await first.press("Enter");
    await page.locator(".ended").getByText("finished").waitFor();
    const { stop } = await server.api("GET", "sessions/pair");
    assert.equal(stop.payload.output, "7 and 12");
    assert.deepEqual(page.complaints, []);
  },

  /** The record of a child shows what that child said and knew (`docs/studio.md`). */
  async "shows the past of children"({ browser, server }) {
    const { others } = await server.session("pair", "then");
    const page = await visit(browser, server, "/s/then");
    await asked(page, "All of it is counted.");
    for (const [at, topic] of [[1, "lamps"], [2, "chairs"]]) {
      await page.evaluate((record) => {
        location.hash = `/s/then/@${record}`;
      }, at);
      await page.locator(".here-scroll").getByText(`How many ${topic}?`).waitFor();
      await page.locator(".here-scroll .said-node").getByText(others[at - 1].child).waitFor();
      await show(page, "Time");
      await page.locator(".context .said-node").getByText(others[at - 1].child).waitFor();
      await page.locator(".context .change").getByText(topic).waitFor();
      await show(page, "Walk");
    }
    await page.evaluate(() => {
      location.hash = "/s/then/@0";
    });
    await page.locator(".here-scroll").getByText("All of it is counted.").waitFor();
    assert.deepEqual(page.complaints, []);
  },

  async "says that a record is not there"({ browser, server }) {
    await server.session("pair", "short");
    const page = await visit(browser, server, "/s/short/@99");
    await page.getByText("There is no record 99").waitFor();
    await page.getByText("The session has the records 0 to 2.").waitFor();
    for (const name of ["Fork here", "Go back to here"]) assert.equal(await page.getByRole("button", { name }).count(), 0);
    await page.getByRole("link", { name: "Show the newest, record 2" }).click();
    await asked(page, "All of it is counted.");
    assert.deepEqual(page.complaints, []);
  },

  /** Whoever decides can tell a secret from a text that is empty. */
  async "names the secrets of a call"({ browser, server }) {
    await server.session("vault", "vault");
    const page = await visit(browser, server, "/approvals");
    const shown = (within) => within.locator(".entry").filter({ hasText: "key" }).getByText("Bearer é{{secret:bank}}/{{secret:branch}}", { exact: true });
    await shown(page.locator(".held-card").filter({ hasText: "Transfer 12?" })).waitFor();
    await page.evaluate(() => {
      location.hash = "/s/vault";
    });
    await shown(page.locator(".decision")).waitFor();
    await page.locator(".entry").filter({ hasText: "note" }).getByText('""', { exact: true }).first().waitFor();
    await page.getByRole("button", { name: /^Approve/ }).click();
    await page.getByRole("button", { name: "Give the result" }).waitFor();
    await shown(page.locator(".ask-column")).waitFor();
    assert.deepEqual(page.complaints, []);
  },

  /** What begins like JSON and is none is sent as a text only by who says so. */
  async "asks whether broken JSON is meant as a text"({ browser, server }) {
    await server.session("shop", "broken", ["2"]);
    const { stop } = await server.api("GET", "sessions/broken");
    await server.api("POST", `sessions/broken/approvals/${stop.payload.id}`, { decision: "approve" });
    const page = await visit(browser, server, "/s/broken");
    const result = page.getByRole("textbox", { name: "The result" });
    await result.fill("parcel 12");
    assert.equal(await page.locator(".field-errors li").count(), 0, "words are no broken JSON");
    await result.fill('{"parcel": ');
    await page.getByRole("button", { name: "Give the result" }).click();
    await page.getByRole("alert").getByText("This begins like JSON and is none").waitFor();
    assert.equal((await server.api("GET", "sessions/broken")).stop.type, "CALL_TOOL");
    assert.equal(await result.inputValue(), '{"parcel": ');
    await page.getByRole("button", { name: "Give it as a text" }).click();
    await page.locator(".ended").getByText("finished").waitFor();
    assert.equal((await server.api("GET", "sessions/broken")).stop.payload.output, '{"parcel": ');
    // A value of the context is held to the same.
    await show(page, "Time");
    await page.getByRole("button", { name: "Set", exact: true }).click();
    await page.getByLabel("Path, with dots").fill("count");
    await page.getByLabel("Value, as JSON or as a text").fill("[1");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Set the context" }).click();
    await dialog.getByText("This begins like JSON and is none").waitFor();
    await page.getByLabel("Value, as JSON or as a text").fill("[1]");
    await dialog.getByText("This begins like JSON and is none").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    assert.deepEqual(page.complaints, []);
  },

  /** A question is edited while its answer is typed (`docs/serve.md`). */
  async "asks what an edit made of the question"({ browser, server, folder }) {
    await server.session("kinds", "edited", ["red", true]);
    const page = await visit(browser, server, "/s/edited");
    await asked(page, "How many?");
    const field = page.locator(".here-ask input");
    await field.fill("4");
    const file = path.join(folder, "kinds/many.md");
    const text = fs.readFileSync(file, "utf8");
    fs.writeFileSync(file, text.replace("How many?", "How many pieces?").replace("input_type: int", "input_type: float"));
    await asked(page, "How many pieces?");
    assert.equal(await field.inputValue(), "4");
    assert.equal(await field.evaluate((element) => element === document.activeElement), true, "the focus stays");
    // The question of before took no such number.
    await page.keyboard.type(".5");
    await page.keyboard.press("Enter");
    await asked(page, "Which shape?");
    const { items } = await server.api("GET", "sessions/edited/records");
    const answer = items.findLast(({ kind }) => kind === "input");
    assert.deepEqual([answer.from, answer.changes.context.many], ["many", 4.5], JSON.stringify(answer));
    assert.ok(items.some(({ kind, seq }) => kind === "reload" && seq < answer.seq), JSON.stringify(items));
    fs.writeFileSync(file, text);
    assert.deepEqual(page.complaints, []);
  },
};
