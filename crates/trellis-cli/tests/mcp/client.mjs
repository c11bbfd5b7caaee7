// The official TypeScript client against `/mcp` of `trellis serve`: node client.mjs PEERS ERA URL TOKEN. Prints one line of JSON for each scene.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [peers, era, url, token] = process.argv.slice(2);
const require = createRequire(`${peers}/index.js`);
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/client").replace(".cjs", ".mjs")));
const say = (scene, facts) => console.log(JSON.stringify({ scene, ...facts }));
const answers = { "name?": "Ada", "Which drink": "Tea", "Sugar?": false, "How many": 2, "How hot?": 70.5 };

async function connect(capabilities, asked, decision = "deny") {
  const client = new Client({ name: "scenes", version: "1" }, { capabilities, versionNegotiation: { mode: era } });
  if (asked) {
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      asked.push(params.message);
      const { properties } = params.requestedSchema;
      if (properties.decision) return { action: "accept", content: { decision } };
      if (properties.street) return { action: "accept", content: { street: "Rua 1" } };
      const known = Object.entries(answers).find(([text]) => params.message.includes(text));
      return { action: "accept", content: { answer: known ? known[1] : "yes" } };
    });
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
  return client;
}

const asked = [];
const person = await connect({ elicitation: {} }, asked);
const changed = new Promise((resolve) => person.setNotificationHandler("notifications/tools/list_changed", () => resolve(true)));
let steps = 0;
let at = await person.callTool({ name: "kinds", arguments: {} }, { onprogress: () => steps++ });
while (at.structuredContent.stop.type !== "END") at = await person.callTool({ name: "navigate", arguments: { session: at.structuredContent.session } });
say("forms", { asked, output: at.structuredContent.output, progressed: steps > 0, revision: person.getNegotiatedProtocolVersion?.() });
if (era === "legacy") {
  console.log(JSON.stringify({ scene: "edit" }));
  say("changed", { changed: await changed });
}
await person.close();

// A person approves, and the client carries the call out itself.
const approver = await connect({ elicitation: {} }, [], "approve");
const go = async (tool, args) => (await approver.callTool({ name: tool, arguments: args })).structuredContent;
let held = await go("kinds", {});
while (held.stop.type !== "CALL_TOOL") held = await go("navigate", { session: held.session });
const shipped = { id: held.stop.payload.id, result: { parcel: 7 } };
const done = await go("navigate", { session: held.session, seq: held.seq, tool_result: shipped });
say("completed", { call: held.stop.payload.name, reason: done.reason, output: done.output });
// More questions than a call has rounds.
let [many, calls] = [await go("many", {}), 1];
for (; many.stop.type !== "END"; calls++) many = await go("navigate", { session: many.session });
say("many", { calls, output: many.output });
await approver.close();

// A client without forms: the model asks in words, and may not approve.
const model = await connect({});
const first = await model.callTool({ name: "kinds", arguments: {} });
let told = first.structuredContent;
for (const input of ["Ada", "Tea", false, 1, 20.5, { street: "Rua 2" }]) {
  told = (await model.callTool({ name: "navigate", arguments: { session: told.session, seq: told.seq, input } })).structuredContent;
}
const call = told.stop.payload.id;
const refused = (await model.callTool({ name: "navigate", arguments: { session: told.session, approve: call } })).structuredContent;
const left = (await model.callTool({ name: "navigate", arguments: { session: told.session, deny: call } })).structuredContent;
say("words", {
  stop: first.structuredContent.stop.type,
  last: first.content[0].text.split("\n").at(-1).startsWith("session s-"),
  refused: refused.code,
  output: left.output,
});
const { prompts } = await model.listPrompts();
const { resources } = await model.listResources();
say("looks", { prompts: prompts.map((prompt) => prompt.name).sort(), resources: resources.map((resource) => resource.uri).sort() });
await model.close();
