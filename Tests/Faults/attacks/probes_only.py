# SPDX-License-Identifier: Apache-2.0
"""The first of two servers of a vendor answers health probes, but not the names of clients."""
import contextlib
import json
import os
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dns.message
import dns.query
from common import Server, main, pause
from json_silence import Plain
from vendors import stranger

TITLE = "the first server of a vendor answers only probes; the second server answers all names"
PROMISE = "no name goes to a plain upstream"
PEERS = ()
NAMES = 60

SETTINGS = """
vendors:
  api:
    kind: json
    url: "http://dns.example:FIRST/resolve"
    servers: ["127.0.0.1:FIRST", "127.0.0.1:SECOND"]
routes:
  - {domains: [example.com], vendors: [api]}
upstreams:
  - {name: isp, url: "udp://127.0.0.1:PLAIN"}
listen: ["127.0.0.1:{port}"]
control: {socket: "{directory}/control.sock"}
"""


def run(programs, server):
    released, clear = threading.Event(), set()

    def answer(path, may_answer=True):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        name = query["name"][0]
        if name.endswith("example.com") and not may_answer:
            released.wait(60)
            return None
        records = [{"name": name + ".", "type": 1, "TTL": 60, "data": "192.0.2.7"}]
        body = json.dumps({"Status": 0, "Answer": records if query["type"][0] == "A" else []})
        return 200, {}, body.encode()

    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(Plain(clear))
        first = stack.enter_context(stranger(lambda path: answer(path, may_answer=False)))
        second = stack.enter_context(stranger(answer))
        stack.callback(released.set)
        settings = SETTINGS.replace("FIRST", str(first)).replace("SECOND", str(second))
        settings = settings.replace("PLAIN", str(plain.port))
        with Server(programs, server, settings) as daemon:
            for number in range(NAMES):
                query = dns.message.make_query(f"good{number}.example.com", "A")
                dns.query.udp(query, "127.0.0.1", 8, port=daemon.port)
                pause(0.1)
    leaked = sum(name.startswith("good") for name in clear)
    return f"{leaked} of {NAMES} names in the clear", leaked == 0


if __name__ == "__main__":
    main(globals())
