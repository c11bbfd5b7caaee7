"""The official Python client before and after a graph is edited: python edited.py ERA TRELLIS GRAPHS. Prints one line of JSON for each form, and one for each end."""

import asyncio
import json
import sys
from pathlib import Path

import mcp
from mcp.types import ElicitResult

ERA, TRELLIS, GRAPHS = sys.argv[1:4]
FILE = Path(GRAPHS) / "edited/start.yaml"
ANSWERS = {"shop": 7, "place": '{"street": "Rua 1"}', "Keep the call": "again", "Name?": "Ada"}
ask = True


def say(scene, **facts):
    print(json.dumps({"scene": scene, **facts}), flush=True)


async def person(_context, params):
    """Answers each form, or closes it where the session is to wait."""
    if not ask:
        return ElicitResult(action="cancel")
    properties = params.requested_schema["properties"]
    say("form", message=params.message, properties=properties, required=params.requested_schema.get("required"))
    answer = next((answer for text, answer in ANSWERS.items() if text in params.message), None)
    return ElicitResult(action="accept", content={name: ANSWERS.get(name, answer) for name in properties})


def edit(old, new):
    text = FILE.read_text()
    assert old in text
    FILE.write_text(text.replace(old, new))


def connect():
    server = mcp.StdioServerParameters(command=TRELLIS, args=["mcp", GRAPHS])
    return mcp.Client(server, mode=ERA, elicitation_callback=person)


async def main():
    global ask
    async with connect() as client:
        at = (await client.call_tool("edited", {})).structured_content
        say("call", call=at["stop"]["payload"]["name"])
        ask = False
        other = (await client.call_tool("edited", {})).structured_content
        ask = True
    # Sessions go on with another program once they are loaded.
    edit("do: order", "do: book")
    edit("# needs", "required_context: [shop, place], # needs")
    async with connect() as client:
        at = (await client.call_tool("navigate", {"session": at["session"]})).structured_content
        say("call", call=at["stop"]["payload"]["name"])
        at = (await client.call_tool("navigate", {"session": other["session"]})).structured_content
        done = {"id": at["stop"]["payload"]["id"], "result": "fine"}
        end = await client.call_tool("navigate", {"session": at["session"], "tool_result": done})
        say("end", output=end.structured_content["output"])


asyncio.run(main())
