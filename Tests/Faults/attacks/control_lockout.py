# SPDX-License-Identifier: Apache-2.0
"""Clients occupy the control socket with `watch`, so that the operator cannot control the daemon."""
import contextlib
import json
import os
import socket
import subprocess

import common

TITLE = "16 `watch` clients occupy the control socket"
PROMISE = "`status` and `reload` are answered"
PEERS = ()

CLIENTS = 16

SETTINGS = """
listen: ["127.0.0.1:{port}"]
control: {socket: "{directory}/control.sock"}
accelerate: {loopback: "off"}
upstreams: [{name: test, url: "udp://127.0.0.1:9"}]
"""

WATCH = b'{"method":"io.httpdnsd.Control.Watch","parameters":{},"more":true}\0'


def watch(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(5)
    client.connect(path)
    with contextlib.suppress(OSError):
        client.sendall(WATCH)
        reply = client.recv(65536)
        return client, bool(reply) and "error" not in json.loads(reply.split(b"\0")[0])
    return client, False


def verb(programs, daemon, name):
    done = subprocess.run(
        [os.path.join(programs, "httpdnsctl"), "--socket", daemon.control, "--json", name],
        capture_output=True, timeout=20, check=False,
    )
    # A degraded daemon also replies with its state, an object.
    return done.stdout.lstrip().startswith(b"{") and b"error" not in done.stdout[:40]


def run(programs, server):
    with common.Server(programs, server, SETTINGS) as daemon, contextlib.ExitStack() as clients:
        watching = 0
        for _ in range(CLIENTS):
            client, watches = watch(daemon.control)
            clients.enter_context(client)
            watching += watches
        answered = [name for name in ("status", "reload") if verb(programs, daemon, name)]
    told = " and ".join(answered) if answered else "nothing"
    return f"{watching} watch, {told} answered", len(answered) == 2


if __name__ == "__main__":
    common.main(globals())
