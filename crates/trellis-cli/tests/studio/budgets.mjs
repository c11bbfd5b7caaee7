/**
 * How large and how quick the studio is. Sizes must be within their budgets. A time may be ten times its budget: tests run a program that is not
 * optimised, and share its processors with others. `STRICT=1` takes it at its word.
 */

import assert from "node:assert/strict";
import fs from "node:fs";
import zlib from "node:zlib";

import { large } from "./graphs.mjs";
import { folderOf, launch, newContext, Server, TOKEN } from "./harness.mjs";

const SLACK = process.env.STRICT ? 1 : 10;

/** The middle one of some times. */
function median(times) {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)];
}

const folder = folderOf([], large(100));
const server = await new Server(folder).start();
const browser = await launch();
let exceeded = 0;

function hold(what, value, most, unit, slack = 1) {
  const isWithin = value <= most * slack;
  if (!isWithin) exceeded += 1;
  console.log(`${isWithin ? "within " : "BEYOND "} ${what}: ${value.toFixed(1)} ${unit} (${most})`);
}

// Sizes, compressed.
for (const [file, most] of [["studio.js", 60], ["studio.css", 10]]) {
  const text = await (await fetch(`${server.address}/${file}`)).text();
  hold(file, zlib.gzipSync(text).length / 1024, most, "KB");
}

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
hold("first paint", median(paints), 300, "ms", SLACK);
hold("100 nodes usable", median(usable), 500, "ms", SLACK);

await browser.close();
await server.kill();
fs.rmSync(folder, { recursive: true, force: true });
assert.equal(exceeded, 0, "a budget is exceeded");
