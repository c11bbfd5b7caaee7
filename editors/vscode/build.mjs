// Bundles the extension into one file; `--tests` bundles the tests, `--minify` what is published.
import { readdirSync } from "node:fs";
import { build } from "esbuild";

const tests = process.argv.includes("--tests");
const entries = tests ? readdirSync("test").map((name) => `test/${name}`) : ["src/extension.ts"];
await build({
  entryPoints: entries,
  outdir: tests ? "dist/test" : "dist",
  outExtension: tests ? { ".js": ".mjs" } : {},
  bundle: true,
  platform: "node",
  target: "node20",
  format: tests ? "esm" : "cjs",
  external: ["vscode"],
  minify: process.argv.includes("--minify"),
  legalComments: "linked",
  logLevel: "warning",
});
