// The official TypeScript client and a task: node task.mjs PEERS URL TOKEN begin | finish TASK. Prints one line of JSON for each scene.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [peers, url, token, act, task] = process.argv.slice(2);
const require = createRequire(`${peers}/index.js`);
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/client").replace(".cjs", ".mjs")));
const say = (scene, facts) => console.log(JSON.stringify({ scene, ...facts }));

// The client has no words of its own for tasks: what comes back is taken as it is.
const anything = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
const capabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
const client = new Client({ name: "tasks", version: "1" }, { capabilities, versionNegotiation: { mode: "legacy" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
const ask = (method, params) => client.request({ method, params }, anything);

if (act === "begin") {
  const begun = await ask("tools/call", { name: "oven", arguments: {} });
  say("begun", { task: begun.taskId, status: begun.status });
} else {
  const asked = [];
  let at = await ask("tasks/get", { taskId: task });
  for (; at.status !== "completed"; at = await ask("tasks/get", { taskId: task })) {
    if (at.status === "input_required") {
      const [[key, request]] = Object.entries(at.inputRequests);
      asked.push(request.params.message);
      await ask("tasks/update", { taskId: task, inputResponses: { [key]: { action: "accept", content: { answer: true } } } });
    } else if (at.status !== "working") {
      throw new Error(JSON.stringify(at));
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  say("finished", { asked, output: at.result.structuredContent.output });
}
await client.close();
