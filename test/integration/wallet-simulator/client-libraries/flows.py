"""What the programs of the client libraries share: access, callbacks, and the report of each flow."""

import json
import os
import queue
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

access = json.loads(os.environ["SIMULATOR_ACCESS"])
"""The base URL and credentials of a simulated wallet."""


def report(flow, value):
    """Reports what the library returned for a flow."""
    print("FLOW " + json.dumps([flow, value], default=str), flush=True)


def until(ask, is_done):
    """Asks until the answer is final, as a client does that polls."""
    deadline = time.monotonic() + 120
    while True:
        answer = ask()
        if is_done(answer):
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"the last answer was {answer}")
        time.sleep(0.05)


def new_uuid():
    return str(uuid.uuid4())


class Callbacks:
    """A listener for the messages that a wallet posts."""

    def __init__(self):
        received = queue.Queue()
        self._received = received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                received.put((self.path, json.loads(body)))
                answer = json.dumps({"ResultCode": 0, "ResultDesc": "Accepted"}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_PUT = do_POST

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._url = f"http://127.0.0.1:{self._server.server_port}"

    def url(self, name):
        return f"{self._url}/{name}"

    def next(self, name):
        """The next message at the URL of this name. Messages at other URLs are dropped."""
        while True:
            path, body = self._received.get(timeout=120)
            if path == f"/{name}":
                return body
