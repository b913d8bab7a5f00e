# SPDX-License-Identifier: Apache-2.0
"""Queries for 35,000 new names a second come from 65,536 forged addresses."""
import contextlib
import socket
import subprocess
import threading

import common
import servers

TITLE = "queries for 35,000 new names a second over UDP from 65,536 forged addresses"
PROMISE = "at most 5 % of names fail from this machine over UDP, and from another client over TCP"
PEERS = ("unbound",)
RATE, SENDERS, NAMES, STREAMS, SECONDS, WITHIN = 35000, 2, 160, 40, 8, 5
LOCAL, REMOTE = "127.0.0.1", common.CLIENTS[2]
LISTENERS = {
    'listen: ["127.0.0.1:{port}"]': f'listen: ["127.0.0.1:{{port}}", "{REMOTE}:{{port}}"]',
    "  interface: 127.0.0.1\n": f"  interface: 127.0.0.1\n  interface: {REMOTE}\n",
    "10.99.0.0/24": "10.0.0.0/8",
}


def serve(listener):
    """Answers over UDP, because `common.upstream` is too slow for the rate of the attack."""
    while True:
        message, client = listener.recvfrom(4096)
        listener.sendto(servers.honest(message), client)


def serve_stream(client):
    """The daemon retries a query over TCP after replies that match no query."""
    octets = client.makefile("rb")
    while head := octets.read(2):
        client.sendall(common.framed(servers.honest(octets.read(int.from_bytes(head, "big")))))


def over_tcp(port, results):
    for number in range(STREAMS):
        reply = None
        with contextlib.suppress(OSError), socket.create_connection(
                (REMOTE, port), WITHIN, source_address=(common.CLIENTS[1], 0)) as client:
            client.sendall(common.framed(common.query(f"stream{number}.example", number)))
            reply = next(common.replies(client), None)
        results.append(reply is not None and reply[3] & 15 == 0)
        common.pause(SECONDS / STREAMS)


def run(programs, server):
    forged = [f"10.32.{number >> 8}.{number & 255}" for number in range(65536)]
    subprocess.run(["ip", "route", "replace", "local", "10.32.0.0/16", "dev", "lo"], check=True)
    with servers.listening(serve_stream) as port, contextlib.ExitStack() as stack:
        upstream = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        # SO_RCVBUFFORCE: bursts must not be lost here.
        upstream.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)
        upstream.bind((LOCAL, port))
        stack.enter_context(common.attacking(lambda: serve(upstream)))
        settings = common.forwarding(server, port)
        for old, new in LISTENERS.items():
            settings = settings.replace(old, new)
        daemon = stack.enter_context(common.Server(programs, server, settings))
        for sender in range(SENDERS):
            pattern = f"new{sender}-{{}}.example"
            stack.enter_context(common.attacking(
                lambda pattern=pattern: common.send_names(daemon.port, pattern, RATE / SENDERS, forged, REMOTE)))
        common.pause(3)
        streams = []
        client = threading.Thread(target=over_tcp, args=(daemon.port, streams))
        client.start()
        names = [f"local{number}.example" for number in range(NAMES)]
        local = common.victim(daemon.port, LOCAL, names, SECONDS, WITHIN)
        client.join()
        alive = daemon.is_alive()
    figure = f"{local} of {NAMES} names of this machine failed, {streams.count(False)} of {STREAMS} over TCP"
    return figure, alive and local <= NAMES * 0.05 and streams.count(False) <= STREAMS * 0.05


if __name__ == "__main__":
    common.main(globals())
