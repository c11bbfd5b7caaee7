/** Runs in the page of the chat: the host of the official package, one bridge for each page that is shown. */

import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const bridges = [];

/** Shows a page in the sandbox of another origin; done once it has greeted. What it asks is answered by the script that drives the browser. */
window.show = async ({ html, abilities, hostContext }) => {
  const frame = document.createElement("iframe");
  frame.src = "http://sandbox.test/";
  frame.sandbox = "allow-scripts allow-same-origin";
  frame.title = "A session";
  const bridge = new AppBridge(null, { name: "chat", version: "1" }, abilities, { hostContext });
  bridge.oncalltool = (params) => window.callTool(params);
  bridge.onupdatemodelcontext = async (params) => {
    await window.told("context", params);
    return {};
  };
  bridge.onmessage = async (params) => {
    await window.told("message", params);
    return {};
  };
  bridge.onopenlink = async (params) => {
    await window.told("link", params);
    return {};
  };
  bridge.onsizechange = ({ height }) => {
    frame.style.height = `${height}px`;
  };
  bridge.onsandboxready = () => bridge.sendSandboxResourceReady({ html, sandbox: "allow-scripts" });
  const greeted = new Promise((resolve) => {
    bridge.oninitialized = resolve;
  });
  document.body.append(frame);
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await greeted;
  bridges.push(bridge);
};

/** Tells the newest page what a tool was called with, and what came of it. */
window.deliver = async (args, result) => {
  const bridge = bridges.at(-1);
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(result);
};

window.cancel = (reason) => bridges.at(-1).sendToolCancelled({ reason });
window.adapt = (context) => bridges.at(-1).setHostContext(context);
window.tearDown = () => bridges.at(-1).teardownResource({});
