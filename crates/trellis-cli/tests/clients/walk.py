"""Walks the tour with a client that was made from openapi.json: python walk.py URL TOKEN. Prints the outputs and what was refused."""

import json
import sys

from tour_client import AuthenticatedClient
from tour_client.api.default import answer_session, list_records, list_sessions, start_session
from tour_client.models import ApprovalLine, Approve, EndLine, Problem, RequestInputLine, StartRequest, Turn
from tour_client.models import Input as InputLine

URL, TOKEN = sys.argv[1:3]
CHAPTERS = ["words", "answers", "tools", "undo", "leave"]
ANSWERS = {
    "name": "Ada",
    "answers/start": "Tea",
    "answers/guess": 7,
    "answers/keep": True,
    "tools/told": "left",
    "undo/start": "winter",
    "undo/booked": "cancel",
}


def reply(turn):
    if isinstance(turn.stop, ApprovalLine):
        return Approve(approve=turn.stop.payload.id)
    assert isinstance(turn.stop, RequestInputLine), turn.stop
    return InputLine(input_=CHAPTERS.pop(0) if turn.node == "menu" else ANSWERS.get(turn.node, ""))


client = AuthenticatedClient(base_url=URL, token=TOKEN, timeout=120)
turn = start_session.sync(client=client, body=StartRequest(id="typed"))
approvals = 0
while not isinstance(turn.stop, EndLine):
    approvals += isinstance(turn.stop, ApprovalLine)
    turn = answer_session.sync(turn.session, client=client, body=reply(turn), if_match=f'"{turn.seq}"', prefer="wait=60")
    assert isinstance(turn, Turn), turn
late = answer_session.sync(turn.session, client=client, body=InputLine(input_="more"))
assert isinstance(late, Problem)
listed = list_sessions.sync(client=client, standing="finished")
records = list_records.sync(turn.session, client=client, limit=1)
print(
    json.dumps(
        {
            "output": turn.stop.payload.output,
            "approvals": approvals,
            "late": late.code,
            "listed": [head.session for head in listed.items],
            "first": records.first,
        }
    )
)
