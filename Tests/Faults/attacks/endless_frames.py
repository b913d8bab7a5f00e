# SPDX-License-Identifier: Apache-2.0
"""An upstream over HTTPS answers its first query with empty HTTP/2 frames without end (RFC 9113 §10.5)."""
import contextlib
import os
import signal
import socket
import tempfile
import threading
import time

import common

TITLE = "an upstream over HTTPS sends empty HTTP/2 frames without end"
PROMISE = "another client's names are answered within 1 s meanwhile"
PEERS = ()
SECONDS = 6

SETTINGS = """
listen: ["127.0.0.1:{port}"]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: hostile, url: "https://dns.example:HOSTILE/dns-query", addresses: ["127.0.0.1"], ca-file: FILE, only: true}
  - {name: honest, url: "udp://127.0.0.1:HONEST"}
routes: [{domains: [hostile.example], upstreams: [hostile]}]
hosts: {files: []}
cache: {snapshot: "off"}
accelerate: {loopback: "off"}
rate-limit: "off"
allow: [127.0.0.0/8, 10.99.0.0/24]
"""

SETTINGS_FRAME, HEADERS, DATA, PING = 4, 1, 0, 6
END_STREAM, END_HEADERS, ACK = 1, 4, 1

# Status 200 and the content type of a DNS message (RFC 7541 §6).
REPLY_HEADERS = b"\x88\x0f\x10\x17application/dns-message"


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def serve(client, context):
    """Answers health probes; sends frames without end for other names."""
    with contextlib.suppress(OSError), context.wrap_socket(client, server_side=True) as stream:
        octets = stream.makefile("rb")
        octets.read(24)
        stream.sendall(frame(SETTINGS_FRAME, 0, 0))
        bodies = {}
        while len(head := octets.read(9)) == 9:
            payload = octets.read(int.from_bytes(head[:3], "big"))
            kind, flags, number = head[3], head[4], int.from_bytes(head[5:], "big")
            if kind == SETTINGS_FRAME and not flags & ACK:
                stream.sendall(frame(SETTINGS_FRAME, ACK, 0))
            elif kind == PING and not flags & ACK:
                stream.sendall(frame(PING, ACK, 0, payload))
            elif kind == DATA:
                bodies[number] = bodies.get(number, b"") + payload
                if not flags & END_STREAM:
                    continue
                query = bodies.pop(number)
                stream.sendall(frame(HEADERS, END_HEADERS, number, REPLY_HEADERS))
                if query[12] == 0:
                    stream.sendall(frame(DATA, END_STREAM, number, common.answer(query, 0)))
                    continue
                while True:
                    stream.sendall(frame(DATA, 0, number) * 1800)


@contextlib.contextmanager
def hostile(context):
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        child = os.fork()
        if child == 0:
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client, context), daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def attack(port):
    """Asks for fifty hostile names a second."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((common.CLIENTS[0], 0))
        number = 0
        while True:
            number += 1
            client.sendto(common.query(f"n{number}.hostile.example", number & 65535), ("127.0.0.1", port))
            common.pause(0.02)


def run(programs, server):
    """Returns the longest time for an honest name."""
    with tempfile.TemporaryDirectory() as directory:
        file, context = common.certificate(directory)
        with hostile(context) as port, common.upstream(lambda label: (0, 1)) as honest:
            text = SETTINGS.replace("HOSTILE", str(port)).replace("FILE", file)
            with common.Server(programs, server, text.replace("HONEST", str(honest))) as victim, \
                    common.attacking(lambda: attack(victim.port)):
                worst, number, end = 0.0, 0, time.monotonic() + SECONDS
                while time.monotonic() < end:
                    common.pause(0.02)
                    number += 1
                    start = time.monotonic()
                    if common.ask_udp(victim.port, f"n{number}.example.com", SECONDS) != 0:
                        return "no answer", False
                    worst = max(worst, time.monotonic() - start)
    return f"worst {worst * 1000:.0f} ms", worst <= 1


if __name__ == "__main__":
    common.main(globals())
