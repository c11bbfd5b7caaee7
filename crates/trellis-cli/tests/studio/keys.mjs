/** What keys do in the studio: each of those in its list, and the same by the search. */

import assert from "node:assert/strict";

import { asked, lead, show, sightOf, visit } from "./harness.mjs";

/** Waits until the address is as it should be. */
const at = (page, pattern) => page.waitForFunction((source) => new RegExp(source).test(location.hash), pattern);

const go = (page, hash) =>
  page.evaluate((to) => {
    location.hash = to;
  }, hash);

/** What the search has for each key of the page: its name, and the key that it tells. */
const EVERYWHERE = [
  ["New session of kinds", "n"],
  ["Graph kinds", "g g"],
  ["Problems of kinds", "g p"],
  ["Sessions", "g s"],
  ["Approvals", "g a"],
  ["Dead letters", "g d"],
  ["What waits for me", "."],
  ["All keys", "?"],
];
const DRAWING = [
  ["Fit the drawing", "f"],
  ["Zoom in", "+"],
  ["Zoom out", "−"],
  ["Natural size", "0"],
  ["Fold the module of the node", "c"],
  ["Pan left", "←"],
  ["Pan right", "→"],
  ["Pan up", "↑"],
  ["Pan down", "↓"],
];
const TIME = [
  ["A record back", "["],
  ["A record on", "]"],
  ["The first record", "Home"],
  ["Now", "End"],
];

/** Searches for a command by its name, and returns the chosen entry. */
async function search(page, name) {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type(name);
  const chosen = page.getByRole("option", { selected: true });
  await chosen.getByText(name, { exact: true }).waitFor();
  return chosen;
}

export const KEYS = {
  async "goes everywhere by keys"({ browser, server }) {
    await server.session("shop", "gate", ["3"]);
    const page = await visit(browser, server, "/g/kinds");
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await page.locator(".node, .outline-node").first().waitFor();
    for (const [key, hash] of [["p", "^#/g/kinds/problems$"], ["g", "^#/g/kinds$"], ["a", "^#/approvals$"], ["s", "^#/sessions$"], ["d", "^#/dead$"]]) {
      await lead(page, key, hash);
    }
    // What waits for me: held calls come first.
    await press(".");
    await at(page, "^#/s/");
    await page.locator(".decision-button").first().waitFor();
    await press("?");
    const keys = page.getByRole("dialog", { name: "All keys" });
    await keys.getByText("what waits for me").waitFor();
    const listed = await keys.locator("kbd").allTextContents();
    for (const key of ["g g", "g s", "g p", "g a", "n", "f", "+ − 0", "c", "[ ]", "Home End", ".", "?", "Esc", "1 … 9", "A A, D D"]) {
      assert.ok(listed.includes(key), `${key} is not among ${listed}`);
    }
    await press("Escape");
    await keys.waitFor({ state: "detached" });
    // D, and once more.
    await go(page, "/s/gate");
    await page.getByText("Ship 3?").waitFor();
    await press("d");
    await page.getByText("Press D again to deny.").waitFor();
    await press("d");
    await page.locator(".ended").waitFor();
    // A step in time, to either side, and to both ends.
    const last = (await server.api("GET", "sessions/gate")).seq - 1;
    for (const [key, seq] of [["Home", 0], ["]", 1], ["]", 2], ["[", 1], ["[", 0], ["[", 0]]) {
      await press(key);
      await page.getByText(`You look at record ${seq} of ${last}`).waitFor();
    }
    await press("End");
    await at(page, "^#/s/gate$");
    await press("]");
    await at(page, "^#/s/gate$");
    assert.deepEqual(page.complaints, []);
  },

  /** What is typed into a field is no key of the page, nor what is pressed while a dialog is open. */
  async "takes no key while somebody types"({ browser, server }) {
    const page = await visit(browser, server, "/sessions");
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
    const field = page.getByRole("searchbox").or(page.getByRole("textbox")).first();
    await field.focus();
    await page.keyboard.type("gan?.f+[");
    assert.equal(await field.inputValue(), "gan?.f+[");
    await page.keyboard.press("Home");
    assert.equal(await page.evaluate(() => location.hash), "#/sessions");
    assert.equal(await page.getByRole("dialog").count(), 0);
    // Escape leaves the field, and keys are heard again.
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "All keys" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => location.hash), "#/sessions");
    assert.deepEqual(page.complaints, []);
  },

  /** Whoever knows no key finds what it does by its words. */
  async "has every key in its search"({ browser, server }) {
    await server.session("kinds", "searched", ["red", true]);
    const page = await visit(browser, server, "/s/searched");
    await asked(page, "How many?");
    for (const [name, key] of [...EVERYWHERE, ...DRAWING, ...TIME]) {
      const chosen = await search(page, name);
      await chosen.getByText(key, { exact: true }).waitFor();
      await page.keyboard.press("Escape");
      // A dialog that is closed is in the page for a moment more.
      await page.locator("dialog").waitFor({ state: "detached" });
    }
    const run = async (name) => {
      await search(page, name);
      await page.keyboard.press("Enter");
      await page.locator("dialog").waitFor({ state: "detached" });
    };
    await run("The first record");
    await page.getByText("You look at record 0 of 2").waitFor();
    await run("A record on");
    await page.getByText("You look at record 1 of 2").waitFor();
    await run("Now");
    await at(page, "^#/s/searched$");
    await show(page, "Graph");
    await run("Natural size");
    assert.equal((await sightOf(page)).k, 1);
    const before = await sightOf(page);
    await run("Pan left");
    assert.equal((await sightOf(page)).x, before.x + 60);
    await run("Zoom in");
    assert.equal((await sightOf(page)).k, 1.25);
    await run("What waits for me");
    await at(page, "^#/s/");
    assert.deepEqual(page.complaints, []);
  },
};
