"""A hook of Schemathesis: of a stream of events it gets the first ones, since a stream does not end by itself."""

from requests.adapters import HTTPAdapter

send = HTTPAdapter.send


def send_and_begin(self, request, stream=False, **more):
    response = send(self, request, stream=True, **more)
    if response.headers.get("Content-Type", "").startswith("text/event-stream"):
        response._content = next(response.iter_content(chunk_size=None))
        response._content_consumed = True
        response.close()
    elif not stream:
        response.content
    return response


HTTPAdapter.send = send_and_begin
