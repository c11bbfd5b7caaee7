/** A server that answers as Slack does, as far as an agent asks. */

import http from "node:http";

/** A server of Slack that refuses what is sent while `refuses` is set. */
export class FakeSlack {
  refuses = "not_in_channel";
  sent = [];

  async start() {
    this.server = http.createServer((request, response) => {
      let body = "";
      request.on("data", (piece) => (body += piece));
      request.on("end", () => {
        const method = new URL(request.url, "http://localhost").pathname.split("/").at(-1);
        response.setHeader("Content-Type", "application/json");
        response.end(JSON.stringify(this.answer(method, body)));
      });
    });
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.address = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  answer(method, body) {
    if (method === "auth.test") return { ok: true, user_id: "U0", bot_id: "B0", user: "agent", team: "T0" };
    if (method === "chat.postMessage") {
      if (this.refuses !== null) return { ok: false, error: this.refuses };
      this.sent.push(body);
      return { ok: true, ts: `${1700000000 + this.sent.length}.000100`, channel: "C0123" };
    }
    return { ok: true, messages: [], has_more: false };
  }

  settings() {
    return `channels:\n  web: {}\n  slack: { token: { env: SLACK_BOT_TOKEN }, read: [C0123], allow: ["*"], base_url: "${this.address}", poll: 1s }\n`;
  }
}
