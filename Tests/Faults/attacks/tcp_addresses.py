# SPDX-License-Identifier: Apache-2.0
"""1,000 addresses hold all TCP connections, each with a query for a dead name, and replace closed connections."""
import contextlib
import subprocess
import common

TITLE = "1,000 addresses open 250 TCP sessions a second, each with a pending query"
PROMISE = "each query of another client over TCP is answered"
PEERS = ("unbound",)

ADDRESSES, OPENED, TRIES, SECONDS = 1000, 250, 40, 8
NETWORK = "10.99.0.0/16"


def attack(port):
    clients = [None] * ADDRESSES
    number = 0
    while True:
        opened = 0
        for index, client in enumerate(clients):
            number += 1
            try:
                if client is None:
                    if opened >= OPENED:
                        continue
                    opened += 1
                    client = common.connect(port, f"10.99.{1 + index // 250}.{1 + index % 250}")
                    client.setblocking(False)
                    clients[index] = client
                client.send(common.framed(common.query(f"dead{number}.example", number & 0xFFFF)))
                with contextlib.suppress(BlockingIOError):
                    if not client.recv(65535):
                        clients[index] = None
            except OSError:
                clients[index] = None
        common.pause(1)


def is_answered(port, number):
    with contextlib.suppress(OSError):
        with common.connect(port, common.CLIENTS[2]) as client:
            client.settimeout(2)
            common.pause(0.03)
            client.sendall(common.framed(common.query(f"live{number}.example", number)))
            for reply in common.replies(client):
                return reply[3] & 15 == 0
    return False


def run(programs, server):
    subprocess.run(["ip", "route", "replace", "local", NETWORK, "dev", "lo"], check=True)
    rule = lambda label: None if label.startswith("dead") else (0.05, 1)
    with common.upstream(rule) as upstream:
        settings = common.forwarding(server, upstream).replace("10.99.0.0/24", NETWORK)
        with common.Server(programs, server, settings) as daemon:
            with common.attacking(lambda: attack(daemon.port)):
                common.pause(8)
                failed = 0
                for number in range(TRIES):
                    failed += not is_answered(daemon.port, number)
                    common.pause(SECONDS / TRIES)
            alive = daemon.is_alive()
    return f"{failed} of {TRIES} connections without an answer", alive and failed == 0


if __name__ == "__main__":
    common.main(globals())
