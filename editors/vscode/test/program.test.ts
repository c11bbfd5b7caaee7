import assert from "node:assert/strict";
import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { findProgram, isOlder, run, versionIn } from "../src/program.ts";

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
