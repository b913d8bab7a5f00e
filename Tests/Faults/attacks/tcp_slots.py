# SPDX-License-Identifier: Apache-2.0
"""Two addresses hold all TCP connections, each with one query that is never answered."""
import contextlib
import common

TITLE = "two addresses hold all TCP connections, each with a pending query"
PROMISE = "each query of another client over TCP is answered"
PEERS = ("unbound",)

CONNECTIONS, TRIES, SECONDS = 128, 40, 8


def attack(port):
    clients, number = [], 0
    while True:
        for source in common.CLIENTS[:2]:
            held = [client for address, client in clients if address == source]
            for _ in range(CONNECTIONS - len(held)):
                with contextlib.suppress(OSError):
                    client = common.connect(port, source)
                    client.setblocking(False)
                    clients.append((source, client))
        for entry in list(clients):
            number += 1
            try:
                name = f"dead{number}.example"
                entry[1].send(common.framed(common.query(name, number & 0xFFFF)))
                with contextlib.suppress(BlockingIOError):
                    if not entry[1].recv(65535):
                        clients.remove(entry)
            except OSError:
                clients.remove(entry)
        common.pause(1)


def is_answered(port, number):
    with contextlib.suppress(OSError):
        with common.connect(port, common.CLIENTS[2]) as client:
            client.settimeout(2)
            client.sendall(common.framed(common.query(f"live{number}.example", number)))
            for reply in common.replies(client):
                return reply[3] & 15 == 0
    return False


def run(programs, server):
    rule = lambda label: None if label.startswith("dead") else (0.05, 1)
    with common.upstream(rule) as upstream:
        settings = common.forwarding(server, upstream)
        with common.Server(programs, server, settings) as daemon:
            with common.attacking(lambda: attack(daemon.port)):
                common.pause(2)
                failed = 0
                for number in range(TRIES):
                    failed += not is_answered(daemon.port, number)
                    common.pause(SECONDS / TRIES)
                    if number >= 7 and failed == number + 1:
                        # The next tries would also fail, after 2 s each. Without them, all tries count as failed.
                        failed = TRIES
                        break
            alive = daemon.is_alive()
    return f"{failed} of {TRIES} connections without an answer", alive and failed == 0


if __name__ == "__main__":
    common.main(globals())
