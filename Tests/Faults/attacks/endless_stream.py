# SPDX-License-Identifier: Apache-2.0
"""An upstream over TCP sends an endless stream of messages that answer no query."""
import socket

import common
import servers

TITLE = "an upstream over TCP sends messages without end"
PROMISE = "during the attack, each name that needs no upstream is answered within 1 s"
PEERS = ()

SETTINGS = """
listen: [127.0.0.1:{port}]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: hostile, url: "tcp://127.0.0.1:PORT"}
"""


def flood(client):
    junk = common.framed(b"\x55" * 12) * 9000
    client.recv(2)
    while True:
        client.sendall(junk)


def run(programs, server):
    with servers.listening(flood) as port, \
            common.Server(programs, server, SETTINGS.replace("PORT", str(port))) as victim, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(common.query("first.example"), ("127.0.0.1", victim.port))
        return servers.other_names(victim.port, "localhost", 0.2)


if __name__ == "__main__":
    common.main(globals())
