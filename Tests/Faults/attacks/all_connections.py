# SPDX-License-Identifier: Apache-2.0
"""An upstream with four addresses answers no query over HTTP/1.1, which takes a connection for each query."""
import contextlib
import socket
import tempfile
import threading
import time

import common

TITLE = "an upstream with four addresses over HTTP/1.1 answers no query"
PROMISE = "names of another upstream over HTTPS are answered within 1 s meanwhile"
PEERS = ()
SECONDS = 6
ADDRESSES = ("127.0.0.11", "127.0.0.12", "127.0.0.13", "127.0.0.14")

SETTINGS = """
listen: ["127.0.0.1:{port}"]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: silent, url: "https://dns.example:SILENT/dns-query", addresses: [ADDRESSES], ca-file: FILE, only: true}
  - {name: honest, url: "https://dns.example:HONEST/dns-query", addresses: [127.0.0.1], ca-file: FILE}
routes: [{domains: [silent.example], upstreams: [silent]}]
hosts: {files: []}
cache: {snapshot: "off"}
accelerate: {loopback: "off"}
rate-limit: "off"
allow: [127.0.0.0/8, 10.99.0.0/24]
"""


def serve(client, context, is_silent):
    """Answers health probes, and other queries unless silent."""
    with contextlib.suppress(OSError), context.wrap_socket(client, server_side=True) as stream:
        octets = stream.makefile("rb")
        while octets.readline():
            length = 0
            while line := octets.readline().strip().lower():
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            query = octets.read(length)
            if is_silent and query[12] != 0:
                octets.read(1)
                return
            reply = common.answer(query, 1 if query[12] else 0)
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\nContent-Length: {len(reply)}\r\n\r\n"
            stream.sendall(head.encode() + reply)


def listen(address, port, context, is_silent):
    listener = socket.create_server((address, port), backlog=128)

    def accept():
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client, context, is_silent), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def attack(port):
    """Asks for a hundred silent names a second."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((common.CLIENTS[0], 0))
        number = 0
        while True:
            number += 1
            client.sendto(common.query(f"n{number}.silent.example", number & 65535), ("127.0.0.1", port))
            common.pause(0.01)


def run(programs, server):
    """Returns the longest time for an honest name after two seconds."""
    with tempfile.TemporaryDirectory() as directory:
        file, context = common.certificate(directory)
        silent = listen(ADDRESSES[0], 0, context, True)
        for address in ADDRESSES[1:]:
            listen(address, silent, context, True)
        honest = listen("127.0.0.1", 0, context, False)
        text = SETTINGS.replace("SILENT", str(silent)).replace("HONEST", str(honest))
        text = text.replace("FILE", file).replace("ADDRESSES", ", ".join(ADDRESSES))
        with common.Server(programs, server, text) as victim, \
                common.attacking(lambda: attack(victim.port)):
            common.pause(2)
            worst, number, end = 0.0, 0, time.monotonic() + SECONDS
            while time.monotonic() < end:
                common.pause(0.1)
                number += 1
                start = time.monotonic()
                if common.ask_udp(victim.port, f"n{number}.example.com", SECONDS) != 0:
                    return "no answer", False
                worst = max(worst, time.monotonic() - start)
    return f"worst {worst * 1000:.0f} ms", worst <= 1


if __name__ == "__main__":
    common.main(globals())
