# SPDX-License-Identifier: Apache-2.0
"""A client queries names that the vendor never answers, so that the daemon avoids the vendor for all names."""
import json
import os
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dns.message
import dns.query
import dns.rcode
from common import Server, main, pause
from vendors import stranger

TITLE = "a client queries dead names at a vendor of kind `json`"
PROMISE = "no other name goes to a plain upstream"
PEERS = ()
NAMES = 60
DEAD_PER_SECOND = 6

SETTINGS = """
vendors:
  api:
    kind: json
    url: "http://dns.example:PORT/resolve"
    servers: ["127.0.0.1:PORT"]
routes:
  - {domains: [.], vendors: [api]}
upstreams:
  - {name: isp, url: "udp://127.0.0.1:PLAIN"}
listen: ["127.0.0.1:{port}"]
control: {socket: "{directory}/control.sock"}
"""


def run(programs, server):
    released = threading.Event()

    def answer(path):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        name = query["name"][0]
        if name.startswith("dead"):
            released.wait(6)
            return None
        records = [{"name": name + ".", "type": 1, "TTL": 60, "data": "192.0.2.7"}]
        body = json.dumps({"Status": 0, "Answer": records if query["type"][0] == "A" else []})
        return 200, {}, body.encode()

    clear = set()
    with Plain(clear) as plain, stranger(answer) as port:
        settings = SETTINGS.replace("PORT", str(port)).replace("PLAIN", str(plain.port))
        with Server(programs, server, settings) as daemon:
            end = threading.Event()
            attacker = threading.Thread(target=attack, args=(daemon.port, end), daemon=True)
            attacker.start()
            pause(5)
            for number in range(NAMES):
                query = dns.message.make_query(f"good{number}.example.com", "A")
                dns.query.udp(query, "127.0.0.1", 8, port=daemon.port)
                pause(0.1)
            end.set()
            attacker.join()
        released.set()
    leaked = sum(name.startswith("good") for name in clear)
    return f"{leaked} of {NAMES} names in the clear", leaked == 0


def attack(port, end):
    import socket

    number = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while not end.wait(1 / DEAD_PER_SECOND):
            query = dns.message.make_query(f"dead{number}.example.net", "A")
            sender.sendto(query.to_wire(), ("127.0.0.1", port))
            number += 1


class Plain:
    def __init__(self, seen):
        self.seen = seen

    def __enter__(self):
        import socket

        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.end = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self

    def _serve(self):
        while not self.end.is_set():
            try:
                octets, client = self.socket.recvfrom(4096)
            except TimeoutError:
                continue
            query = dns.message.from_wire(octets)
            self.seen.add(query.question[0].name.to_text().lower())
            reply = dns.message.make_response(query)
            reply.set_rcode(dns.rcode.NXDOMAIN)
            self.socket.sendto(reply.to_wire(), client)

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        self.socket.close()


if __name__ == "__main__":
    main(globals())
