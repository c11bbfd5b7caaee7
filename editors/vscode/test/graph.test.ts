import assert from "node:assert/strict";
import { test } from "node:test";
import { studioAddress } from "../src/announced.ts";
import { contextArgs, missingIn } from "../src/context.ts";
import { drawingOf, nodeAt, nodesIn, page } from "../src/drawing.ts";
import { coverageIn } from "../src/lcov.ts";
import { ChosenModules } from "../src/modules.ts";
import { caseIn, counted, countsIn, differing, listedOnce, partsOf } from "../src/results.ts";
import { graphOf, graphOfSheet, mayHoldNodes, placeBeside } from "../src/roots.ts";

const among = (...files: string[]) => (path: string) => files.includes(path);

test("a file belongs to the outermost graph of its workspace folder", () => {
  const exists = among("/w/graphs/shop/trellis.yaml", "/w/graphs/shop/orders/start.md");
  assert.equal(graphOf("/w/graphs/shop/orders/find.md", "/w", exists), "/w/graphs/shop");
  assert.equal(graphOf("/w/README.md", "/w", exists), undefined);
});

test("without a workspace folder, it is the topmost of the unbroken chain", () => {
  const exists = among("/a/start.md", "/a/b/c/start.md", "/a/b/c/d/trellis.yaml");
  assert.equal(graphOf("/a/b/c/d/x.md", undefined, exists), "/a/b/c");
  assert.equal(graphOf("/a/b/x.md", undefined, exists), undefined);
});

test("a sheet belongs to the graph above its `_tests`", () => {
  assert.equal(graphOfSheet("/w/shop/_tests/orders/find.md"), "/w/shop");
  assert.equal(graphOfSheet("/w/shop/orders/find.md"), undefined);
});

test("lines of a test are cases, and others are left out", () => {
  const line = '{"type":"case","id":"a.md › One › two","path":"_tests/a.md","line":3,"outcome":"passed","ms":0,"difference":null}';
  const found = caseIn(line);
  assert.deepEqual([found?.outcome, partsOf(found?.id ?? "")], ["passed", ["a.md", "One", "two"]]);
  for (const other of ["", "{", "null", "[]", '{"type":"summary","passed":1}', '{"type":"case"}']) assert.equal(caseIn(other), undefined);
});

test("the sheets of a graph inside another one are shown once, with the outer one", () => {
  const listed = (...paths: string[]) => paths.map((path) => caseIn(JSON.stringify({ type: "case", id: `${path} › T`, path, line: 1 }))!);
  const graphs = [
    { root: "/w/in/nested", listed: listed("_tests/i.md") },
    { root: "/w/other", listed: listed("_tests/o.md") },
    // An outer graph that says nothing of the inner one, since it has errors.
    { root: "/w/other/broken", listed: listed("_tests/b.md") },
    { root: "/w/in", listed: listed("_tests/o.md", "nested/_tests/i.md") },
  ];
  const shown = listedOnce(graphs).map(({ root, listed }) => [root, ...listed.map(({ path }) => path)]);
  assert.deepEqual(Object.fromEntries(shown.map(([root, ...paths]) => [root, paths])), {
    "/w/in": ["_tests/o.md", "nested/_tests/i.md"],
    "/w/in/nested": [],
    "/w/other": ["_tests/o.md"],
    "/w/other/broken": ["_tests/b.md"],
  });
});

test("nodes are in files of the graph, and in no sheet, setting or draft", () => {
  const held = ["start.md", "orders/find.yaml", "g.json", "my_node.md"];
  for (const file of held) assert.ok(mayHoldNodes("/w/shop", `/w/shop/${file}`), file);
  const others = ["_tests/a.md", "orders/_tests/a.md", "_draft.md", "trellis.yaml", "orders/trellis.yml", "notes.txt", "../README.md", ""];
  for (const file of others) assert.ok(!mayHoldNodes("/w/shop", `/w/shop/${file}`), file);
});

test("the studio opens at a node, with the token", () => {
  const server = { address: "http://127.0.0.1:7317", token: "3f/9c", pid: 1, graphs: ["shop"] };
  assert.equal(studioAddress(server, "orders/find"), "http://127.0.0.1:7317/#token=3f%2F9c&/g/shop?node=orders%2Ffind");
  assert.equal(studioAddress({ ...server, token: null }, "pay"), "http://127.0.0.1:7317/#/g/shop?node=pay");
  assert.equal(studioAddress(server, undefined), "http://127.0.0.1:7317/#3f%2F9c");
  // Of several graphs nobody knows which one the node is of.
  assert.equal(studioAddress({ ...server, graphs: ["a", "b"] }, "pay"), "http://127.0.0.1:7317/#3f%2F9c");
});

test("of a difference only the lines between what is the same are shown", () => {
  const shown = (expected: string[], got: string[]) => Object.values(differing({ expected, got }));
  assert.deepEqual(shown(["> a", "| b", "| c", "* end"], ["> a", "| x", "* end"]), [["| b", "| c"], ["| x"]]);
  assert.deepEqual(shown(["| a"], ["| a", "| a"]), [[], ["| a"]]);
  assert.deepEqual(shown(["| a"], ["| b"]), [["| a"], ["| b"]]);
});

test("counts are said in words", () => {
  const counts = countsIn('{"diagnostics":[],"summary":{"nodes":1,"unchecked":2,"errors":1,"warnings":0}}');
  assert.equal(counts && counted(counts), "1 node, 1 error, 2 unchecked");
  assert.equal(counted({ nodes: 3, errors: 0, warnings: 0, unchecked: 0 }), "3 nodes");
  for (const other of ["", "{}", "no graph"]) assert.equal(countsIn(other), undefined);
});

test("coverage is read file by file", () => {
  const found = coverageIn("TN:\nSF:start.md\nDA:3,2\nDA:5,0\nend_of_record\nSF:b.md\nDA:x,1\nDA:1,1\nend_of_record\nDA:9,9\n");
  assert.deepEqual(Object.fromEntries(found), {
    "start.md": [{ line: 3, count: 2 }, { line: 5, count: 0 }],
    "b.md": [{ line: 1, count: 1 }],
  });
});

test("the node of a line is the last one that begins above it", () => {
  const output = '{"nodes":[{"id":"a","path":"g.yaml","line":2},{"id":"b","path":"g.yaml","line":5},{"id":"end","path":null,"line":null}]}';
  const nodes = nodesIn(output);
  assert.deepEqual([...nodes.keys()], ["a", "b"]);
  const at = (line: number, path = "g.yaml", written = "") => nodeAt(nodes.values(), path, line, written);
  // A node under `nodes:` begins behind its key.
  assert.deepEqual([at(4, "g.yaml", "  b:"), at(4, "g.yaml", "  'b': "), at(4, "g.yaml", "    to: b"), at(3, "g.yaml", "  b:")], ["b", "b", "a", "a"]);
  assert.deepEqual([at(1), at(2), at(4), at(9), at(9, "other.md")], [undefined, "a", "a", "b", undefined]);
});

test("nothing of a drawing or of a name can run in its page", () => {
  const shown = page("n0");
  assert.ok(shown.includes("default-src 'none'") && !shown.includes("unsafe"));
  assert.deepEqual([...shown.matchAll(/<(script|style)[^>]*>/g)].map(([tag]) => tag), ['<style nonce="n0">', '<script nonce="n0">']);
  // What the page is told is parsed as a picture, and never as a part of the page.
  assert.ok(!/innerHTML|insertAdjacentHTML|document\.write/.test(shown));
  assert.equal(drawingOf("<svg><style>@media x {}</style><g/></svg>", []).drawing, "<svg><g/></svg>");
});

test("the script of the page is one", () => {
  assert.doesNotThrow(() => new Function(/<script[^>]*>([^]*)<\/script>/.exec(page("n0"))![1]!));
});

test("modules are the folders with a `start`", () => {
  const { ids, modules } = drawingOf("<svg/>", ["start", "orders/start", "orders/find", "orders/late/start", "restart", "a/restart"]);
  assert.deepEqual([ids.length, modules], [6, ["orders", "orders/late"]]);
});

test("the program is told which modules were opened and closed, and nothing of those that are as it has them", () => {
  const modules = new ChosenModules();
  assert.deepEqual(modules.args(), []);
  modules.choose("orders", true);
  modules.choose("orders/late", true);
  assert.deepEqual(modules.args(), ["--expanded=orders,orders/late"]);
  modules.choose("orders", false);
  assert.deepEqual(modules.args(), ["--expanded=orders/late"]);
  modules.choose("orders/late", false);
  modules.choose("refunds", false);
  assert.deepEqual(modules.args(), ["--collapsed=refunds"]);
  modules.choose("refunds", true);
  assert.deepEqual(modules.args(), []);
});

test("a new node is proposed beside the file that is open, in the graph", () => {
  const beside = (file: string) => placeBeside("/w/shop", `/w/shop/${file}`);
  assert.deepEqual([beside("start.md"), beside("orders/find.md"), beside("orders/late/find.md")], ["", "orders/", "orders/late/"]);
  assert.deepEqual([beside("_tests/a.md"), beside("_tests/orders/a.md"), beside("orders/_tests/a.md"), beside(".trellis/x.json")], ["", "", "orders/", ""]);
});

test("what a start was refused for is asked for, path by path", () => {
  const refusal = "error: the session cannot start: `name` is missing; `order.total` is missing\n  the context of the start is given by `--context KEY=VALUE`\n";
  assert.deepEqual(missingIn(refusal), ["name", "order.total"]);
  assert.deepEqual(missingIn("error[unknown-target]: there is no node `gone`\n`x` is missing\n"), []);
});

test("what is given for paths is one mapping, of JSON or of text", () => {
  const args = (...typed: [string, string][]) => contextArgs(new Map(typed));
  assert.deepEqual(args(), []);
  const given = args(["name", "Ana"], ["age", "3"], ["order", '{"id": 7}'], ["order.total", "9 EUR"], ["a.b", "[1]"], ["__proto__.x", "1"]);
  assert.deepEqual(given, ["--context", '{"name":"Ana","age":3,"order":{"id":7,"total":"9 EUR"},"a":{"b":[1]},"__proto__":{"x":1}}']);
});
