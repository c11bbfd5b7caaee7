/** The pictures of docs/studio.md, made from the running program: `node pictures.mjs FOLDER`. */

import fs from "node:fs";
import path from "node:path";

import { large } from "./graphs.mjs";
import { asked, folderOf, launch, Server, visit } from "./harness.mjs";

const target = process.argv[2] ?? ".";
const folder = folderOf(["tour", "hello"], large(1000));
const server = await new Server(folder).start();
const browser = await launch();

await server.session("tour", "ana", ["Ada"]);
await server.session("tour", "postcard", [], { at: "tools/card", context: { name: "Ada" } });
await server.session("tour", "hotel", ["Ada", "answers", "Tea"]);

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
    await page.locator(".sheet .ways").first().waitFor();
  },
  async problems(page) {
    const mend = breakTour();
    await open(page, "/g/tour/problems");
    await page.locator(".finding.is-chosen").waitFor();
    await page.waitForTimeout(600);
    return mend;
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

for (const colorScheme of ["light", "dark"]) {
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
fs.rmSync(folder, { recursive: true, force: true });
