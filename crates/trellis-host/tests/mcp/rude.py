"""A server of MCP with the manners that its first argument names; 2025-11-25 on standard input and output."""

import json
import os
import signal
import sys
import time

manner = sys.argv[1]
calls = 0
tools = [
    {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    {"name": "shape", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    {"name": "env", "inputSchema": {"type": "object"}},
]
# Schemas that no text fits, of which two are none to hold anybody to.
unfit = {"type": "object", "properties": {"text": {"type": "integer"}}}
if manner == "short-schema":
    tools[0]["inputSchema"] = unfit
if manner == "long-schema":
    tools[0]["inputSchema"] = {**unfit, "description": "x" * 70_000}
if manner == "outside-ref":
    tools[0]["inputSchema"] = {**unfit, "allOf": [{"$ref": "https://schemas.invalid/text.json"}]}


def tell(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(id, said, **more):
    tell({"id": id, "result": {"content": [{"type": "text", "text": said}], **more}})


def note(line):
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a") as file:
            file.write(line + "\n")


def call(id, params):
    global calls
    calls += 1
    args, name, meta = params.get("arguments", {}), params["name"], params.get("_meta", {})
    token = meta.get("progressToken")
    note(f"call {json.dumps(meta, sort_keys=True)}")
    if name == "env":
        return text(id, json.dumps({key: os.environ.get(key) for key in args["names"]}))
    if name == "shape":
        return text(id, "x", structuredContent=args)
    if manner == "dies-in-call":
        sys.stderr.write("out of memory: hunter2hunter2\n")
        sys.stderr.flush()
        sys.exit(3)
    if manner == "dies-in-second-call" and calls == 2:
        sys.exit(3)
    if manner == "mute-call" or (manner == "slow" and calls == 1):
        return None
    if manner == "twice":
        text(id, "first")
        return text(id, "second")
    if manner == "unknown-id":
        text(4711, "for nobody")
        text("4711", "for nobody")
    if manner == "floods":
        for step in range(50_000):
            tell({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 50_000}})
    if manner == "progress":
        for step in range(3):
            tell({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}})
        tell({"method": "notifications/progress", "params": {"progressToken": "other", "progress": 1}})
    if manner == "huge":
        sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.write('"}]}}\n')
        sys.stdout.flush()
        return None
    if manner == "image":
        return tell({"id": id, "result": {"content": [{"type": "image", "mimeType": "image/png", "data": "A" * 2_000_000}]}})
    if manner == "no-result":
        return tell({"id": id})
    if manner == "rpc-error":
        return tell({"id": id, "error": {"code": -32050, "message": "the disk is full: hunter2hunter2", "data": {"free": 0}}})
    if manner == "asks":
        return tell({"id": 900, "method": "elicitation/create", "params": {"message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}})
    if manner == "closes-stdin":
        text(id, args["text"])
        os.close(0)
        time.sleep(60)
    if manner == "changes":
        tools[0] = {"name": "echo", "inputSchema": {"type": "object", "required": ["words"]}}
        text(id, "the old way")
        return tell({"method": "notifications/tools/list_changed"})
    if manner == "vanishes":
        tools.pop(0)
        text(id, "the last time")
        return tell({"method": "notifications/tools/list_changed"})
    return text(id, args["text"])


def answer(message):
    method, id = message.get("method"), message.get("id")
    note(method or "answer " + json.dumps(message))
    if method is None:
        if manner == "asks" and id == 900:
            # The refusal is what the call comes to.
            return tell({"id": 3 if waiting is None else waiting, "error": {"code": message["error"]["code"], "message": "cannot ask"}})
        return None
    if method == "server/discover" and manner != "mute-discover":
        return tell({"id": id, "error": {"code": -32601, "message": "method not found"}})
    if method == "initialize":
        if manner == "dies-in-handshake":
            sys.exit(1)
        tell({"id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                                   "serverInfo": {"name": "rude", "version": "1.2.3"}}})
    if method == "tools/list":
        if manner == "pages":
            page = int(message.get("params", {}).get("cursor", 0))
            more = {"nextCursor": str(page + 1)} if page < 4 else {}
            return tell({"id": id, "result": {"tools": [{**tools[0], "name": f"echo{page}"}], **more}})
        if manner == "endless-pages":
            return tell({"id": id, "result": {"tools": [], "nextCursor": "again"}})
        tell({"id": id, "result": {"tools": tools}})
    if method == "notifications/cancelled" and manner in ("slow", "late"):
        text(message["params"]["requestId"], "done all the same")
    if method == "tools/call":
        return call(id, message["params"])


waiting = None
note("started")
if manner == "dies-at-once":
    sys.exit(7)
if manner == "stays":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if manner == "logs":
    print("listening on stdio")
    print('{"level": "info", "message": "ready"}')
    print("{", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        waiting = message["id"]
    answer(message)
    if manner == "logs":
        print("handled a message", flush=True)
note("end of input")
if manner == "stays":
    while True:
        time.sleep(1)
