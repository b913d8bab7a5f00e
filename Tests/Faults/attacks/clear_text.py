# SPDX-License-Identifier: Apache-2.0
"""A client queries names that no resolver answers, to make the daemon avoid its encrypted upstream."""
import contextlib
import select
import socket
import tempfile
import threading
import time

import common
import dns.message

TITLE = "a client queries dead names, to make the daemon avoid its encrypted upstream"
PROMISE = "no other name is sent in the clear while the encrypted upstream answers other names"
PEERS = ()

# Never set: CLOCK.wait(timeout) is the pause between queries.
CLOCK = threading.Event()

SETTINGS = """
listen: [127.0.0.1:{port}]
control: {socket: {directory}/control.sock}
allow: [127.0.0.0/8, 10.99.0.0/24]
rate-limit: "off"
upstreams:
  - {name: dot, url: "tls://dns.example:DOT", addresses: [127.0.0.1], ca-file: CERTIFICATE}
  - {name: isp, url: "udp://127.0.0.1:PLAIN"}
"""


def settings(dot, plain):
    text = SETTINGS.replace("DOT", str(dot.port)).replace("PLAIN", str(plain.port))
    return text.replace("CERTIFICATE", dot.certificate)


# Connections of each overloading client, and queries that it pipelines on each of them.
CONNECTIONS, QUERIES = 120, 200


CACHED = b"".join(common.framed(common.query("cached.example", ident)) for ident in range(QUERIES))


def overload(port, source, connections=CONNECTIONS, queries=CACHED):
    unsent = {}
    while True:
        with contextlib.suppress(OSError):
            while len(unsent) < connections:
                client = common.connect(port, source)
                client.setblocking(False)
                unsent[client] = b""
        readable, writable, _ = select.select(list(unsent), list(unsent), [], 1)
        for client in {*readable, *writable}:
            try:
                if client in readable and not client.recv(1 << 20):
                    raise ConnectionResetError
                if client in writable:
                    unsent[client] = unsent[client] or queries
                    unsent[client] = unsent[client][client.send(unsent[client]):]
            except BlockingIOError:
                pass
            except OSError:
                del unsent[client]
                client.close()


def in_the_clear(programs, server, burst, pause, seconds, sources=()):
    """Sends `burst` queries for dead names (see common.py) every `pause` seconds, and five queries for other names a
    second.

    Returns how many of the other names the plain upstream saw, and the number of all other names.
    """
    with tempfile.TemporaryDirectory(prefix="attack-") as directory, \
            common.EncryptedUpstream(directory) as dot, common.PlainUpstream() as plain, \
            common.Server(programs, server, settings(dot, plain)) as victim, contextlib.ExitStack() as stack:
        common.ask_udp(victim.port, "cached.example")
        for source in sources:
            stack.enter_context(common.attacking(lambda source=source: overload(victim.port, source)))
        end = time.monotonic() + seconds

        def attack():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                number = 0
                while time.monotonic() < end:
                    for _ in range(burst):
                        number += 1
                        query = dns.message.make_query(f"n{number}.dead.example", "A")
                        client.sendto(query.to_wire(), ("127.0.0.1", victim.port))
                    CLOCK.wait(pause)

        attacker = threading.Thread(target=attack)
        attacker.start()
        asked = []
        while time.monotonic() < end:
            name = f"n{len(asked)}.private.example"
            asked.append(name)
            common.ask_udp(victim.port, name)
            CLOCK.wait(0.2)
        attacker.join()
        return len(set(asked) & set(plain.names)), len(asked)


def run(programs, server):
    steady = in_the_clear(programs, server, 1, 0.1, 12)
    page = in_the_clear(programs, server, 4, 4, 12)
    loaded = in_the_clear(programs, server, 1, 0.1, 12, common.CLIENTS[:2])
    figure = (f"{steady[0]} of {steady[1]} names in the clear at 10 dead names a second, "
              f"{page[0]} of {page[1]} at four dead names every 4 s, "
              f"{loaded[0]} of {loaded[1]} at 10 a second with pipelining clients")
    return figure, steady[0] + page[0] + loaded[0] == 0


if __name__ == "__main__":
    common.main(globals())
