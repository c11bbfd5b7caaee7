/**
 * How large the studio is. `STRICT=1`, of the program as it is published on a quiet machine, measures besides how quick it is and what it keeps in
 * memory, also with 10,000 nodes, 10,000 records and 1,000 turns.
 */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";

import { large, LONG } from "./graphs.mjs";
import { asked, folderOf, launch, newContext, Server, TOKEN, visit } from "./harness.mjs";

const STRICT = process.env.STRICT !== undefined;

/** A session that asks the same again and again. */
const ROUND = {
  "round/trellis.yaml": "name: round\n",
  "round/start.md": "---\ninput_type: text\nmax_visits: 100000\non_max_visits: end\nto: start\n---\nAnd then?\n",
  "round/end.md": "That was all.\n",
};

/** The middle one of some times. */
function median(times) {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)];
}

const folder = folderOf([], { ...large(100), ...ROUND });
const server = await new Server(folder).start();
let exceeded = 0;

function hold(what, value, most, unit) {
  const isWithin = value <= most;
  if (!isWithin) exceeded += 1;
  console.log(`${isWithin ? "within " : "BEYOND "} ${what}: ${value.toFixed(1)} ${unit} (${most})`);
}

// Sizes, compressed.
for (const [file, most] of [["studio.js", 60], ["studio.css", 10]]) {
  const text = await (await fetch(`${server.address}/${file}`)).text();
  hold(file, zlib.gzipSync(text).length / 1024, most, "KB");
}

/** Presses Enter, and returns the time until the answer stands in the talk. */
const answered = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error("an answer was not taken")), 30_000);
        const field = document.querySelector(".ask-field");
        const setter = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set;
        setter.call(field, "on");
        field.dispatchEvent(new Event("input", { bubbles: true }));
        // A long walk shows its last answers, of which the newest is an element of its own.
        const newest = () => [...document.querySelectorAll(".here-scroll .answer")].at(-1);
        const before = newest();
        // What was typed reaches the page first.
        requestAnimationFrame(() => {
          const began = performance.now();
          const watch = new MutationObserver(() => {
            if (newest() === before) return;
            watch.disconnect();
            resolve(performance.now() - began);
          });
          watch.observe(document.querySelector(".here-scroll"), { childList: true, subtree: true });
          field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
        });
      }),
  );

/** The bytes of the heap, once what nobody holds is gone. */
async function heap(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / (1024 * 1024);
}

/** Pans and zooms for a while, and returns the frames of a second. */
async function frames(page) {
  const box = await page.locator(".drawing").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.evaluate(() => {
    window.frames_ = 0;
    window.began_ = performance.now();
    const count = () => {
      window.frames_ += 1;
      window.counting_ = requestAnimationFrame(count);
    };
    count();
  });
  await page.mouse.down();
  for (let step = 0; step < 120; step += 1) await page.mouse.move(x + 200 * Math.sin(step / 10), y + 120 * Math.cos(step / 10));
  await page.mouse.up();
  for (let step = 0; step < 60; step += 1) await page.mouse.wheel(0, step % 20 < 10 ? -40 : 40);
  return page.evaluate(() => {
    cancelAnimationFrame(window.counting_);
    return (1000 * window.frames_) / (performance.now() - window.began_);
  });
}

if (STRICT) {
  const browser = await launch();
  // First paint, and a graph of a hundred nodes that can be used.
  const paints = [];
  const usable = [];
  for (let run = 0; run < 5; run += 1) {
    const context = await newContext(browser, { viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript((token) => localStorage.setItem("trellis-token", token), TOKEN);
    await page.goto(`${server.address}/#/g/large`);
    await page.locator(".node").first().waitFor();
    usable.push(await page.evaluate(() => performance.now()));
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0));
    await context.close();
  }
  hold("first paint", median(paints), 300, "ms");
  hold("100 nodes usable", median(usable), 500, "ms");

  // From a key to the next question.
  await server.session("round", "keys");
  const walk = await visit(browser, server, "/s/keys");
  await asked(walk, "And then?");
  const keys = [];
  for (let turn = 0; turn < 15; turn += 1) keys.push(await answered(walk));
  hold("key to next question", median(keys), 60, "ms");
  await walk.context().close();

  // From a save to the drawing.
  const file = path.join(folder, "large/end.md");
  const drawn = await visit(browser, server, "/g/large");
  await drawn.locator(".node").first().waitFor();
  const saves = [];
  for (let save = 0; save < 5; save += 1) {
    const names = drawn.locator(".outline-node", { hasText: `end${save}` });
    const began = Date.now();
    fs.writeFileSync(path.join(folder, `large/end${save}.md`), "A new end.\n");
    fs.writeFileSync(file, `---\nto: end${save}\n---\nIt goes on.\n`);
    await names.first().waitFor();
    saves.push(Date.now() - began);
  }
  hold("save to drawing", median(saves), 150, "ms");
  await drawn.context().close();

  const huge = folderOf([], { ...large(10_000), ...LONG });
  const far = await new Server(huge).start();
  const { seq } = await far.session("long", "long");
  assert.ok(seq > 10_000, String(seq));
  const page = await visit(browser, far, "/g/large");
  await page.locator(".module-folded").first().waitFor();
  hold("time of a frame, 10,000 nodes", 1000 / (await frames(page)), 20, "ms");
  await page.evaluate(() => {
    location.hash = "/s/long";
  });
  await page.locator(".record").last().waitFor();
  await page.evaluate(() => {
    location.hash = "/g/large";
  });
  await page.locator(".module-folded").first().waitFor();
  hold("heap with 10,000 nodes and 10,000 records", await heap(page), 80, "MB");
  await page.context().close();
  await far.kill();
  fs.rmSync(huge, { recursive: true, force: true });

  await server.session("round", "leak");
  const leak = await visit(browser, server, "/s/leak");
  await asked(leak, "And then?");
  for (let turn = 0; turn < 50; turn += 1) await answered(leak);
  const before = await heap(leak);
  for (let turn = 0; turn < 1000; turn += 1) await answered(leak);
  hold("growth of the heap over 1,000 turns", (await heap(leak)) - before, 5, "MB");
  await browser.close();
}

await server.kill();
fs.rmSync(folder, { recursive: true, force: true });
assert.equal(exceeded, 0, "a budget is exceeded");
