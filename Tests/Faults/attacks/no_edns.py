# SPDX-License-Identifier: Apache-2.0
"""An upstream rejects every query that has an OPT record."""
import contextlib
import socket
import threading

import common
import dns.exception
import dns.message
import dns.rcode

TITLE = "an upstream rejects queries with EDNS"
PROMISE = "every name is answered"
PEERS = ("unbound",)

SETTINGS = """
listen: [127.0.0.1:{port}]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: old, url: "udp://127.0.0.1:UPSTREAM"}
"""

UNBOUND = """
server:
  interface: 127.0.0.1
  port: {port}
  directory: {directory}
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  do-not-query-localhost: no
  module-config: "iterator"
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@UPSTREAM
"""


def serve(upstream):
    with contextlib.suppress(OSError):
        while True:
            octets, client = upstream.recvfrom(4096)
            with contextlib.suppress(dns.exception.DNSException):
                query = dns.message.from_wire(octets)
                reply = common.address_reply(octets)
                if query.edns >= 0:
                    query.use_edns(-1)
                    rejection = dns.message.make_response(query)
                    rejection.set_rcode(dns.rcode.FORMERR)
                    reply = rejection.to_wire()
                if reply:
                    upstream.sendto(reply, client)


def run(programs, server):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream:
        upstream.bind(("127.0.0.1", 0))
        threading.Thread(target=serve, args=(upstream,), daemon=True).start()
        settings = SETTINGS if server == "httpdnsd" else UNBOUND
        settings = settings.replace("UPSTREAM", str(upstream.getsockname()[1]))
        with common.Server(programs, server, settings) as victim:
            rcodes = [common.ask_udp(victim.port, f"n{number}.example.com") for number in range(5)]
    answered = sum(rcode == 0 for rcode in rcodes)
    return f"{answered} of 5 names answered", answered == 5


if __name__ == "__main__":
    common.main(globals())
