# SPDX-License-Identifier: Apache-2.0
"""Two clients pipeline queries of 40 KB with 10,000 EDNS options and a TSIG record on 16 TCP connections each."""
import contextlib
import struct

import clear_text
import common

TITLE = "two TCP clients pipeline queries of 40 KB with 10,000 EDNS options"
PROMISE = "at most 2 % of another client's names fail"
PEERS = ("unbound",)
ATTACKERS, CONNECTIONS, NAMES, SECONDS = common.CLIENTS[:2], 16, 160, 8

OPTIONS = struct.pack(">HHH", 15, 2, 1) * 10000
OPT = b"\0" + struct.pack(">HHIH", 41, 1232, 0, len(OPTIONS)) + OPTIONS
TSIG = b"\0" + struct.pack(">HHIH", 250, 255, 0, 0)
QUERY = common.query("example", qtype=2)[:11] + b"\2" + common.query("example", qtype=2)[12:] + OPT + TSIG


def run(programs, server):
    with common.upstream(lambda label: (0, 1)) as upstream, \
            common.Server(programs, server, common.forwarding(server, upstream)) as daemon, \
            contextlib.ExitStack() as stack:
        for source in ATTACKERS:
            stack.enter_context(common.attacking(lambda source=source: clear_text.overload(
                daemon.port, source, CONNECTIONS, common.framed(QUERY) * 3)))
        common.pause(2)
        names = [f"other{number}.example" for number in range(NAMES)]
        failed = common.victim(daemon.port, common.CLIENTS[2], names, SECONDS)
        alive = daemon.is_alive()
    return f"{failed} of {NAMES} names failed", alive and failed <= NAMES * 0.02


if __name__ == "__main__":
    common.main(globals())
