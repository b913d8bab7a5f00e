# SPDX-License-Identifier: Apache-2.0
"""Sixteen TCP connections pipeline names that the server answers itself, as fast as they can."""
import contextlib
import select
import time

import common

TITLE = "one TCP client pipelines local names on 16 connections"
PROMISE = "another client's slowest answer takes at most 300 ms"
PEERS = ("unbound",)

CONNECTIONS, QUERIES, NAMES, SECONDS = 16, 400, 100, 6


def attack(port):
    queries = b"".join(
        common.framed(common.query("x.invalid", number)) for number in range(QUERIES)
    )
    clients = [common.connect(port, common.CLIENTS[0]) for _ in range(CONNECTIONS)]
    for client in clients:
        client.setblocking(False)
    unsent = {client: b"" for client in clients}
    while True:
        readable, writable, _ = select.select(clients, clients, [])
        for client in readable:
            with contextlib.suppress(BlockingIOError):
                client.recv(1 << 20)
        for client in writable:
            unsent[client] = unsent[client] or queries
            with contextlib.suppress(BlockingIOError):
                unsent[client] = unsent[client][client.send(unsent[client]):]


def run(programs, server):
    with common.upstream(lambda label: (0, 1)) as upstream:
        settings = common.forwarding(server, upstream)
        with common.Server(programs, server, settings) as daemon:
            with common.attacking(lambda: attack(daemon.port)):
                common.pause(1)
                times = []
                for number in range(NAMES):
                    begin = time.monotonic()
                    with common.connect(daemon.port, common.CLIENTS[1]) as client:
                        client.settimeout(5)
                        name = f"live{number}.example"
                        client.sendall(common.framed(common.query(name, number)))
                        with contextlib.suppress(OSError):
                            next(iter(common.replies(client)))
                    times.append(time.monotonic() - begin)
                    common.pause(max(0, SECONDS / NAMES - times[-1]))
            alive = daemon.is_alive()
    median, worst = sorted(times)[len(times) // 2] * 1000, max(times) * 1000
    return f"median {median:.0f} ms, worst {worst:.0f} ms", alive and worst <= 300


if __name__ == "__main__":
    common.main(globals())
