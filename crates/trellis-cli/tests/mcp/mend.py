"""A small program that mends graphs with what `trellis mcp --author` returns, and nothing else: python mend.py TRELLIS FOLDER GRAPH…

It edits the files as fixes and helps say, until `check` reports nothing, then walks each graph to its end. Prints one line of JSON for each graph."""

import asyncio
import json
import re
import sys
from pathlib import Path

import mcp

TRELLIS, FOLDER, *GRAPHS = sys.argv[1:]
ANSWERS = {"text": "Ada", "int": 3, "confirm": True, "json": {}, "any": "something"}


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    assert not result.is_error, f"{tool}: {text}"
    return text


def replace(file, edits):
    """Makes edits of one file, the last one first, since they are offsets in bytes."""
    text = file.read_bytes()
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new.encode() + text[end:]
    file.write_bytes(text)


def fixes(graph, found):
    """Edits by file, without those that meet an edit of an earlier finding."""
    by_file = {}
    for finding in found:
        edits = [(edit["path"], edit["span"]["start"], edit["span"]["end"], edit["text"]) for edit in (finding["fix"] or {}).get("edits", [])]
        taken = lambda path, start, end: any(start <= other[1] and other[0] <= end for other in by_file.get(path, []))
        if not any(taken(*edit[:3]) for edit in edits):
            for path, *edit in edits:
                by_file.setdefault(path, []).append(tuple(edit))
    for path, edits in by_file.items():
        replace(graph / path, edits)
    return sum(map(len, by_file.values()))


def help_of(graph, finding, keys):
    """Does what the help of a finding without a fix says."""
    file, span, help = graph / finding["path"], finding["span"], finding["help"]
    if guarded := re.search(r"guard it, `\{\{ (.+?) \}\}`", help):
        return replace(file, [(span["start"], span["end"], guarded[1].replace('"…"', "'none'"))])
    if argument := re.search(r"add `(\w+): …`", help):
        # A call by its bare name becomes a mapping; what it needs is looked for in the context, by its name.
        assert "args" in keys["call"], "a call takes `args`"
        text = file.read_bytes()[span["start"] : span["end"]].decode()
        given = f'{{ name: {text}, args: {{ {argument[1]}: "{{{{ {argument[1]} }}}}" }} }}'
        return replace(file, [(span["start"], span["end"], given)])
    raise AssertionError(f"nothing helps against {finding}")


async def mended(client, name, keys):
    """Checks and edits until nothing is found; returns the codes that were found, in order, and how many edits came from fixes."""
    graph, codes, edits = Path(FOLDER) / name, [], 0
    for _ in range(10):
        found = json.loads(await call(client, "check", path=name, strict=True))["diagnostics"]
        if not found:
            return codes, edits
        for finding in found:
            if finding["code"] not in codes:
                codes.append(finding["code"])
                page = await call(client, "explain", code=finding["code"])
                assert page.startswith(f"# {finding['code']}\n"), page
        fixed = fixes(graph, found)
        edits += fixed
        if fixed == 0:
            help_of(graph, found[0], keys)
    raise AssertionError(f"{name} is not mended: {found}")


async def walked(client, name):
    """Walks a graph with an answer to each question and a result for each call; returns its end and the nodes of the calls."""
    inputs, results = [], {}
    for _ in range(20):
        lines = (await call(client, "walk", path=name, inputs=inputs, results=results)).splitlines()
        last = json.loads(lines[-1])
        payload = last["payload"]
        if last["type"] == "REQUEST_INPUT":
            options = payload.get("options")
            inputs.append(options[0]["value"] if options else ANSWERS[payload["input_type"]])
        elif last["type"] == "CALL_TOOL":
            results.setdefault(payload["name"], []).append({"id": "r1"})
        else:
            assert last["type"] == "END", last
            return payload
    raise AssertionError(f"{name} does not end")


async def main():
    server = mcp.StdioServerParameters(command=TRELLIS, args=["mcp", "--author", FOLDER])
    async with mcp.Client(server) as client:
        schema = json.loads(await call(client, "schema", kind="node"))
        keys = {"node": schema["properties"], "call": json.dumps(schema["definitions"]["call"])}
        for name in GRAPHS:
            codes, edits = await mended(client, name, keys)
            graph = json.loads(await call(client, "graph", path=name))
            lost = {node["id"] for node in graph["nodes"]} - {edge["to"] for edge in graph["edges"]} - {"start"}
            assert not lost, f"{name}: nothing leads to {lost}"
            end = await walked(client, name)
            print(json.dumps({"graph": name, "codes": codes, "edits": edits, "reason": end["reason"], "output": end.get("output")}), flush=True)


asyncio.run(main())
