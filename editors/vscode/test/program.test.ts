import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { findProgram, isOlder, missingProgram, run, unfit, versionIn } from "../src/program.ts";

async function folderWith(mode: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "trellis-test-"));
  await writeFile(join(folder, "trellis"), "#!/bin/sh\necho trellis 1.2.3\n");
  await chmod(join(folder, "trellis"), mode);
  return folder;
}

test("the first program on the path is found, and none in a relative folder", async () => {
  const [plain, first, second] = [await folderWith(0o644), await folderWith(0o755), await folderWith(0o755)];
  assert.equal(await findProgram("", ["bin", plain, first, second].join(delimiter), false), join(first, "trellis"));
  assert.equal(await findProgram("", ["bin", plain].join(delimiter), false), undefined);
});

test("a setting wins, and one that leads to no program finds nothing else", async () => {
  const [first, second] = [await folderWith(0o755), await folderWith(0o755)];
  assert.equal(await findProgram(join(second, "trellis"), first, false), join(second, "trellis"));
  assert.equal(await findProgram(join(second, "other"), first, false), undefined);
  assert.equal(await findProgram("trellis", first, false), undefined);
});

test("versions are compared by their numbers", () => {
  assert.equal(versionIn("trellis 0.10.2\n"), "0.10.2");
  assert.equal(versionIn("grep 3.8"), undefined);
  assert.deepEqual([isOlder("0.9.9", "0.10.0"), isOlder("0.10.0", "0.9.9"), isOlder("1.0.0", "1.0.0")], [true, false, false]);
});

test("a program that ends with another code than 0 is no error; one that cannot be started is one", async () => {
  const folder = await folderWith(0o755);
  assert.deepEqual(await run(join(folder, "trellis"), [], folder), { code: 0, stdout: "trellis 1.2.3\n", stderr: "" });
  assert.deepEqual(await run("/bin/sh", ["-c", "echo no >&2; exit 3"], folder), { code: 3, stdout: "", stderr: "no\n" });
  await assert.rejects(run(join(folder, "nothing"), [], folder));
});

test("where the program is missing, too old or another one, people are told what helps", () => {
  assert.match(missingProgram(""), /not on the PATH .* `trellis\.path`, or install it and restart/);
  assert.match(missingProgram("/opt/x"), /`trellis\.path` leads to no program: \/opt\/x\. Correct it/);
  assert.match(unfit("/opt/trellis", "0.0.9") ?? "", /`\/opt\/trellis` is 0\.0\.9, and .* needs 0\.1\.0 or newer\. Install a newer one .* `trellis\.path`/);
  assert.match(unfit("/bin/grep", undefined) ?? "", /no `trellis`\. Name another .* `trellis\.path`/);
  assert.deepEqual([unfit("/opt/trellis", "0.1.0"), unfit("/opt/trellis", "1.0.0")], [undefined, undefined]);
});

test("a program that is stopped ends", async () => {
  const folder = await folderWith(0o755);
  const stopped = new AbortController();
  const running = run("/bin/sh", ["-c", "echo $$ >pid; exec sleep 1000"], folder, stopped.signal);
  const pid = async () => Number(await readFile(join(folder, "pid"), "utf8").catch(() => ""));
  while ((await pid()) === 0) await setTimeout(10);
  stopped.abort();
  await assert.rejects(running);
  const isAlive = async (id: number) => !(await readFile(`/proc/${id}/stat`, "utf8").catch(() => "gone (x) Z")).includes(") Z");
  while (await isAlive(await pid())) await setTimeout(10);
});
