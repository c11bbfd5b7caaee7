"""The official Python client against `trellis mcp`: python client.py ERA TRELLIS GRAPHS. Prints one line of JSON for each scene."""

import asyncio
import json
import sys

import mcp
from mcp.types import ElicitResult

ERA, TRELLIS, GRAPHS = sys.argv[1:4]
ANSWERS = {
    "name?": "Ada",
    "Which drink": "Coffee",
    "Sugar?": True,
    "How many": 2,
    "How hot?": 70.5,
}
asked = []


async def person(_context, params):
    """Answers forms; the first number of cups is one that is refused."""
    asked.append(params.message)
    properties = params.requested_schema["properties"]
    if "decision" in properties:
        assert [choice["const"] for choice in properties["decision"]["oneOf"]] == ["approve", "deny"]
        return ElicitResult(action="accept", content={"decision": "approve"})
    if "street" in properties:
        return ElicitResult(action="accept", content={"street": "Rua 1", "number": 3})
    if "cups" in params.message and sum("cups" in message for message in asked) == 1:
        return ElicitResult(action="accept", content={"answer": 0})
    answer = next((answer for text, answer in ANSWERS.items() if text in params.message), "yes")
    return ElicitResult(action="accept", content={"answer": answer})


def say(scene, **facts):
    print(json.dumps({"scene": scene, **facts}), flush=True)


def connect(**more):
    server = mcp.StdioServerParameters(command=TRELLIS, args=["mcp", GRAPHS])
    return mcp.Client(server, mode=ERA, **more)


async def forms():
    async with connect(elicitation_callback=person) as client:
        held = await client.call_tool("kinds", {})
        calls = 1
        while held.structured_content["stop"]["type"] != "CALL_TOOL":
            calls += 1
            held = await client.call_tool("navigate", {"session": held.structured_content["session"]})
        call = held.structured_content["stop"]
        say("forms", asked=list(asked), calls=calls, text=held.content[0].text)
        done = {"id": call["payload"]["id"], "result": {"parcel": 7}}
        end = await client.call_tool("navigate", {"session": held.structured_content["session"], "tool_result": done})
        say("completed", **{key: end.structured_content[key] for key in ("reason", "output")})
        many = await client.call_tool("many", {})
        calls = 1
        while many.structured_content["stop"]["type"] != "END":
            calls += 1
            many = await client.call_tool("navigate", {"session": many.structured_content["session"]})
        say("many", calls=calls, output=many.structured_content["output"])


async def words():
    async with connect() as client:
        at = (await client.call_tool("kinds", {})).structured_content
        for answer in ["Ada", "Tea", False, 1, 20.0, {"street": "Rua 2"}]:
            at = (await client.call_tool("navigate", {"session": at["session"], "seq": at["seq"], "input": answer})).structured_content
        refused = await client.call_tool("navigate", {"session": at["session"], "approve": at["stop"]["payload"]["id"]})
        late = await client.call_tool("navigate", {"session": at["session"], "seq": 1, "input": "late"})
        left = await client.call_tool("navigate", {"session": at["session"], "deny": at["stop"]["payload"]["id"]})
        say("words", refused=refused.structured_content["code"], late=late.structured_content["code"], output=left.structured_content["output"])
        tools = (await client.list_tools()).tools
        templates = (await client.list_resource_templates()).resource_templates
        graph = await client.read_resource("trellis://graphs/kinds")
        node = await client.read_resource("trellis://graphs/kinds/nodes/drink")
        session = await client.read_resource(f"trellis://sessions/{at['session']}")
        prompt = await client.get_prompt("walk-kinds", {})
        say(
            "looks",
            tools=sorted(tool.name for tool in tools),
            templates=len(templates),
            nodes=len(json.loads(graph.contents[0].text)["nodes"]),
            source="Which drink" in node.contents[0].text,
            stop=json.loads(session.contents[0].text)["stop"]["type"],
            prompt="What is your name?" in prompt.messages[0].content.text,
        )


asyncio.run(forms())
asyncio.run(words())
