# SPDX-License-Identifier: Apache-2.0
"""An attacker that knows the port of a query sends replies with guessed IDs."""
import contextlib
import socket
import struct
import threading

import common
import dns.exception

TITLE = "forged replies with wrong IDs"
PROMISE = "after at most 8 guesses over UDP, the query is sent over TCP; all guesses are counted"
PEERS = ()

GUESSES = 1_000
QUERIES = 20

SETTINGS = """
listen: [127.0.0.1:{port}]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: isp, url: "udp://127.0.0.1:UPSTREAM"}
"""


def forge(upstream):
    with contextlib.suppress(OSError):
        while True:
            query, client = upstream.recvfrom(4096)
            with contextlib.suppress(dns.exception.DNSException):
                reply = common.address_reply(query)
                identity = struct.unpack(">H", query[:2])[0]
                for guess in range(1, GUESSES + 1):
                    with contextlib.suppress(ConnectionRefusedError):
                        forged = struct.pack(">H", identity ^ guess) + reply[2:]
                        upstream.sendto(forged, client)


def answer(listener):
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                length = struct.unpack(">H", client.recv(2, socket.MSG_WAITALL))[0]
                reply = common.address_reply(client.recv(length, socket.MSG_WAITALL))
                client.sendall(struct.pack(">H", len(reply)) + reply)


def run(programs, server):
    port = common.free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream, \
            socket.create_server(("127.0.0.1", port)) as listener:
        upstream.bind(("127.0.0.1", port))
        for target, argument in ((forge, upstream), (answer, listener)):
            threading.Thread(target=target, args=(argument,), daemon=True).start()
        settings = SETTINGS.replace("UPSTREAM", str(port))
        with common.Server(programs, server, settings) as victim:
            rcodes = [common.ask_udp(victim.port, f"n{number}.example.com")
                      for number in range(QUERIES)]
            stats = victim.ask("stats")["upstreams"][0]
    answered = sum(rcode == 0 for rcode in rcodes)
    counted = stats.get("foreign-replies")
    figure = f"{answered} of {QUERIES} names answered, {counted} forged replies counted"
    # Retries and probes also get forged replies, so the count can be twice as high.
    return figure, answered == QUERIES and counted is not None and 0 < counted <= QUERIES * 8 * 2


if __name__ == "__main__":
    common.main(globals())
