# SPDX-License-Identifier: Apache-2.0
"""A client queries slow names at encrypted upstreams that process few queries at a time."""
import contextlib
import socket
import tempfile

import common
import dns.exception
import dns.message
import servers

TITLE = "slow names at an encrypted upstream that processes few queries at a time"
PROMISE = "no other name is sent in the clear"
PEERS = ()
SLOW, OTHERS, SECONDS = 60, 8, 6

SETTINGS = """
listen: [127.0.0.1:{port}]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: encrypted, url: "SCHEME://dns.example:PORTPATH", addresses: [127.0.0.1], ca-file: CERTIFICATE}
  - {name: isp, url: "udp://127.0.0.1:PLAIN"}
"""


def reply_in_time(query):
    if dns.message.from_wire(query).question[0].name.to_text().startswith("slow"):
        common.pause(SECONDS)
    return common.address_reply(query)


class InOrder(common.EncryptedUpstream):
    """DNS over TLS: answers the queries of a connection in order."""

    scheme, path = "tls", ""

    def reply(self, query):
        return reply_in_time(query)


class OneAtATime(common.EncryptedUpstream):
    scheme, path = "https", "/dns-query"

    def _serve(self, client):
        with contextlib.suppress(OSError, dns.exception.DNSException):
            with self._context.wrap_socket(client, server_side=True) as stream:
                for query in servers.http1(stream):
                    stream.sendall(servers.http1_reply(reply_in_time(query)))


def in_the_clear(programs, server, kind):
    with tempfile.TemporaryDirectory(prefix="attack-") as directory, \
            kind(directory) as encrypted, common.PlainUpstream() as plain:
        text = SETTINGS.replace("SCHEME", kind.scheme).replace("PATH", kind.path)
        text = text.replace("PORT", str(encrypted.port))
        text = text.replace("PLAIN", str(plain.port)).replace("CERTIFICATE", encrypted.certificate)
        with common.Server(programs, server, text) as victim, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            common.ask_udp(victim.port, "first.private.example")
            for number in range(SLOW):
                query = common.query(f"slow{number}.attacker.example")
                client.sendto(query, ("127.0.0.1", victim.port))
            for number in range(OTHERS):
                common.ask_udp(victim.port, f"n{number}.private.example", 2)
        return sum("private" in name for name in plain.names)


def run(programs, server):
    tls = in_the_clear(programs, server, InOrder)
    https = in_the_clear(programs, server, OneAtATime)
    figure = f"{tls} of {OTHERS} names in the clear over TLS, {https} of {OTHERS} over HTTP/1.1"
    return figure, tls + https == 0


if __name__ == "__main__":
    common.main(globals())
