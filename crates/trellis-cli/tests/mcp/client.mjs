// The official TypeScript client against `/mcp` of `trellis serve`: node client.mjs PEERS ERA URL TOKEN. Prints one line of JSON for each scene.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [peers, era, url, token] = process.argv.slice(2);
const require = createRequire(`${peers}/index.js`);
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/client").replace(".cjs", ".mjs")));
const say = (scene, facts) => console.log(JSON.stringify({ scene, ...facts }));
const answers = { "name?": "Ada", "Which drink": "Tea", "Sugar?": false, "How many": 2, "How hot?": 70.5 };

async function connect(capabilities, asked) {
  const client = new Client({ name: "scenes", version: "1" }, { capabilities, versionNegotiation: { mode: era } });
  if (asked) {
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      asked.push(params.message);
      const { properties } = params.requestedSchema;
      if (properties.decision) return { action: "accept", content: { decision: "deny" } };
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

const model = await connect({});
const first = await model.callTool({ name: "kinds", arguments: {} });
say("words", { stop: first.structuredContent.stop.type, last: first.content[0].text.split("\n").at(-1).startsWith("session s-") });
const { prompts } = await model.listPrompts();
const { resources } = await model.listResources();
say("looks", { prompts: prompts.map((prompt) => prompt.name).sort(), resources: resources.map((resource) => resource.uri).sort() });
await model.close();
