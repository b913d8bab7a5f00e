# SPDX-License-Identifier: Apache-2.0
"""One client sends 3,000 queries a second over UDP for new names that are never answered."""
import contextlib
import socket
import time

import common

TITLE = "one UDP client asks 3,000 dead names a second"
PROMISE = "other clients lose at most 2 %"
PEERS = ("unbound",)

RATE, NAMES, SECONDS = 3000, 240, 12


def attack(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((common.CLIENTS[0], 0))
        client.connect(("127.0.0.1", port))
        begin, number = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - begin) * RATE)
            while number < due:
                with contextlib.suppress(OSError):
                    client.send(common.query(f"dead{number}.example", number & 0xFFFF))
                number += 1
            common.pause(0.002)


def run(programs, server):
    """Queries live names from another address, after 3 s."""
    rule = lambda label: None if label.startswith("dead") else (0.05, 1)
    with common.upstream(rule) as upstream:
        settings = common.forwarding(server, upstream)
        with common.Server(programs, server, settings) as daemon:
            with common.attacking(lambda: attack(daemon.port)):
                common.victim(daemon.port, common.CLIENTS[1], [f"warm{i}.example" for i in range(30)], 3)
                names = [f"live{number}.example" for number in range(NAMES)]
                failed = common.victim(daemon.port, common.CLIENTS[1], names, SECONDS)
            alive = daemon.is_alive()
    return f"{failed} of {NAMES} names failed", alive and failed <= NAMES * 0.02


if __name__ == "__main__":
    common.main(globals())
