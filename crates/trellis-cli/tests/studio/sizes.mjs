/** The studio at every size: what stands beside what, and that nothing is lost where there is little room. */

import assert from "node:assert/strict";

import { asked, newContext, visit } from "./harness.mjs";

/** The boxes of what is in sight, by selector; those that are hidden are left out. */
async function boxes(page, selectors) {
  const found = {};
  for (const selector of selectors) {
    const part = page.locator(selector).first();
    if (await part.isVisible()) found[selector] = await part.boundingBox();
  }
  return found;
}

const right = (box) => box.x + box.width;
const bottom = (box) => box.y + box.height;

/** Nothing is wider than the window. */
async function fits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `it is ${wide} pixels wide at ${width}`);
}

const PARTS = [".drawing", ".here", ".timeline", ".context", ".panes"];

/** Controls that a finger hits: links inside of a text and what stands in the drawing are as large as that makes them. */
const small = (page) =>
  page.evaluate(() => {
    const controls = [...document.querySelectorAll("button, input, select, textarea, summary, nav a")];
    const shown = controls.filter((one) => one.checkVisibility() && !one.closest(".drawing-world") && one.getBoundingClientRect().width > 1);
    const sizes = shown.map((one) => ({ name: one.ariaLabel ?? one.textContent.trim(), height: Math.round(one.getBoundingClientRect().height) }));
    return sizes.filter(({ height }) => height < 44).map(({ name, height }) => `${name}: ${height}`);
  });

export const SIZES = {
  async "puts its parts beside each other where there is room"({ browser, server }) {
    await server.session("tour", "sizes", ["Ada"]);
    for (const width of [1440, 1100, 1099, 900, 700]) {
      const page = await visit(browser, server, "/s/sizes", { width, height: 900 });
      await asked(page, "Where to, Ada?");
      for (const part of [".drawing-canvas", ".record", ".context"]) await page.locator(part).first().waitFor();
      const parts = await boxes(page, PARTS);
      assert.deepEqual(Object.keys(parts), [".drawing", ".here", ".timeline", ".context"], `at ${width}`);
      const [drawing, here, timeline, context] = Object.values(parts);
      assert.ok(right(drawing) <= here.x + 1 && Math.abs(drawing.y - here.y) < 2, `Here stands beside the drawing at ${width}`);
      assert.ok(timeline.y >= bottom(drawing) - 1 && context.y >= bottom(here) - 1, `time stands below at ${width}`);
      assert.ok(drawing.width >= 300 && here.width >= 300, `each has room at ${width}`);
      await fits(page, width);
      // The outline folds below 1100, and opens again.
      await page.evaluate(() => {
        location.hash = "/g/tour";
      });
      const list = page.locator(".outline-node").first();
      const button = page.getByRole("button", { name: "Show the outline" });
      await page.locator(".drawing").waitFor();
      if (width >= 1100) {
        await list.waitFor();
        assert.equal(await button.isVisible(), false);
      } else {
        await button.waitFor();
        assert.equal(await list.isVisible(), false, `the outline is folded at ${width}`);
        const folded = await page.locator(".drawing").boundingBox();
        assert.equal(Math.round(folded.width), width);
        await button.click();
        await list.click();
        await page.locator(".sheet").waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Fold the outline" }).click();
        await list.waitFor({ state: "hidden" });
      }
      await fits(page, width);
      assert.deepEqual(page.complaints, []);
      await page.context().close();
    }
  },

  async "shows one part at a time where there is little room"({ browser, server }) {
    for (const width of [699, 390, 320]) {
      await server.session("kinds", `narrow-${width}`, ["red"]);
      const page = await visit(browser, server, `/s/narrow-${width}`, { width, height: 844 });
      // Here comes first.
      await asked(page, "Is red what you want?");
      const parts = async () => Object.keys(await boxes(page, PARTS));
      assert.deepEqual(await parts(), [".here", ".panes"], `at ${width}`);
      const pane = (name) => page.locator(".panes").getByRole("button", { name });
      await pane("Graph").click();
      assert.deepEqual(await parts(), [".drawing", ".panes"], `at ${width}`);
      // The drawing pans.
      const box = await page.locator(".drawing").boundingBox();
      const before = await page.locator(".drawing-world").evaluate((world) => world.style.transform);
      await page.mouse.move(box.x + 40, bottom(box) - 40);
      await page.mouse.down();
      await page.mouse.move(box.x + 80, bottom(box) - 90, { steps: 4 });
      await page.mouse.up();
      await page.waitForFunction((seen) => document.querySelector(".drawing-world").style.transform !== seen, before);
      await pane("Time").click();
      assert.deepEqual(await parts(), [".timeline", ".context", ".panes"], `at ${width}`);
      await pane("Walk").click();
      assert.deepEqual(await small(page), [], `fingers miss these at ${width}`);
      await fits(page, width);
      await page.locator(".two-buttons button").first().click();
      await asked(page, "How many?");
      assert.deepEqual(page.complaints, []);
      await page.context().close();
    }
  },

  /** 1280 × 1024 at 400 % are 320 × 256. */
  async "loses nothing at 400 percent"({ browser, server }) {
    await server.session("kinds", "zoomed", ["red"]);
    await server.session("shop", "zoomed-call", ["3"]);
    const context = await newContext(browser, { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4, reducedMotion: "reduce" });
    const page = await visit(browser, server, "/s/zoomed", { context });
    /** Scrolls to something, and sees that nothing lies over it. */
    const reach = async (part, what) => {
      await part.scrollIntoViewIfNeeded();
      const isReached = await part.evaluate((element) => {
        const box = element.getBoundingClientRect();
        const top = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height, innerHeight) / 2);
        return top !== null && (element.contains(top) || top.contains(element)) && box.height >= 20;
      });
      assert.ok(isReached, `${what} is out of reach`);
    };
    await asked(page, "Is red what you want?");
    // What is said and asked has room of its own: no part is a slit.
    const room = await page.evaluate(() => {
      const [said, ask] = [".here-scroll", ".here-ask"].map((part) => document.querySelector(part));
      return { said: said.clientHeight, hidden: ask.scrollHeight - ask.clientHeight };
    });
    assert.ok(room.said >= 100 && room.hidden <= 1, JSON.stringify(room));
    await reach(page.locator(".here-scroll").getByText("Is red what you want?").last(), "the question");
    await reach(page.locator(".two-buttons button").first(), "the answer");
    await page.locator(".two-buttons button").first().click();
    await asked(page, "How many?");
    await page.getByRole("textbox").last().fill("7");
    await page.keyboard.press("Enter");
    await asked(page, "Which shape?");
    await page.locator(".panes").getByRole("button", { name: "Time" }).click();
    await reach(page.getByRole("button", { name: /^Record 0 / }), "the first record");
    await reach(page.locator(".context"), "the context");
    await page.locator(".panes").getByRole("button", { name: "Graph" }).click();
    await reach(page.locator(".drawing"), "the drawing");
    const views = [
      ["/s/zoomed-call", ".decision-button"],
      ["/approvals", ".decision-button"],
      ["/sessions", ".table tbody th"],
      ["/g/kinds", ".outline-node"],
      ["/g/kinds?node=many", ".sheet .said"],
      ["/g/kinds?node=many", ".sheet .keys"],
      ["/g/kinds/problems", "h1"],
      ["/s/zoomed/@1", ".bar-past .button.primary"],
      ["/s/zoomed/answer", ".ask-field, textarea"],
    ];
    for (const [view, part] of views) {
      await page.evaluate((to) => {
        location.hash = to;
      }, view);
      await page.locator(part).last().waitFor({ state: "attached" });
      if (part !== "h1") await reach(page.locator(part).last(), `${part} of ${view}`);
      await fits(page, 320);
    }
    await page.keyboard.press("Control+k");
    await page.keyboard.type("sessions");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
    assert.deepEqual(page.complaints, []);
    await context.close();
  },
};
