# SPDX-License-Identifier: Apache-2.0
"""A TCP client sends an endless stream of empty and malformed messages."""
import socket
import time

import common

TITLE = "a TCP client sends messages without a valid query, without end"
PROMISE = "the connection is closed within 1 s, after less than 0.2 s of processor time"
PEERS = ("unbound",)

SECONDS = 4

FRAMES = {
    "empty": b"\0\0" * 4096,
    "garbage": common.framed(b"\xff" * 9) * 800,
    "malformed": common.framed(common.query("a.example")[:-1]) * 400,
}


def served_seconds(port, octets):
    begin = time.monotonic()
    with common.connect(port, common.CLIENTS[0]) as client:
        client.settimeout(0.5)
        try:
            while time.monotonic() < begin + SECONDS:
                client.send(octets)
                try:
                    client.setblocking(False)
                    if not client.recv(1 << 20):
                        break
                except BlockingIOError:
                    pass
                client.settimeout(0.5)
        except (ConnectionError, socket.timeout):
            pass
    return time.monotonic() - begin


def run(programs, server):
    with common.upstream(lambda label: (0, 1)) as upstream:
        settings = common.forwarding(server, upstream)
        with common.Server(programs, server, settings) as daemon:
            before = daemon.processor_seconds()
            served = {kind: served_seconds(daemon.port, octets) for kind, octets in FRAMES.items()}
            processor = daemon.processor_seconds() - before
            alive = daemon.is_alive()
    figure = ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in served.items())
    holds = alive and max(served.values()) < 1 and processor < 0.2
    return f"served: {figure}; {processor:.2f} s of processor time", holds


if __name__ == "__main__":
    common.main(globals())
