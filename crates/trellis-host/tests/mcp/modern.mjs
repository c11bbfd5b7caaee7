// A server of 2026-07-28 over HTTP; with `legacy` it takes 2025 as well. It says its port on standard output.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { McpServer, createMcpHandler, fromJsonSchema, inputRequired } = await import(
  pathToFileURL(createRequire(process.argv[2] + "/").resolve("@modelcontextprotocol/server")).href
);
const text = fromJsonSchema({ type: "object", properties: { text: { type: "string" } }, required: ["text"] });
const handler = createMcpHandler(
  () => {
    const server = new McpServer({ name: "modern", version: "3.0.0" });
    server.registerTool("echo", { inputSchema: text }, ({ text }) => ({ content: [{ type: "text", text }] }));
    server.registerTool("ask", { inputSchema: text }, () =>
      inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: "sure?", requestedSchema: { type: "object", properties: {} } }) } }),
    );
    return server;
  },
  { legacy: process.argv[3] === "legacy" ? "stateless" : "reject" },
);
createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const url = new URL(request.url, "http://127.0.0.1");
  const body = chunks.length ? Buffer.concat(chunks) : undefined;
  const answer = await handler.fetch(new Request(url, { method: request.method, headers: request.headers, body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body) for await (const chunk of answer.body) response.write(chunk);
  response.end();
}).listen(0, "127.0.0.1", function () {
  console.log(this.address().port);
});
