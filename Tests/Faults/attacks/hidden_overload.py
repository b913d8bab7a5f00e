# SPDX-License-Identifier: Apache-2.0
"""The attack of `rate_limited_upstream`; the client also asks a fast upstream for new names, over TCP."""
import contextlib
import time

import common
import rate_limited_upstream

TITLE = "as `rate_limited_upstream`; over TCP, the client also queries 3,000 new names a second of a fast upstream"
PROMISE = "after 6 s, at most 20 % of another client's names fail"
PEERS = ()
RATE = 3000


def hide(port):
    number, begin = 0, time.monotonic()
    while True:
        stream = common.connect(port, common.CLIENTS[0])
        stream.setblocking(False)
        octets = b""
        with contextlib.suppress(ConnectionError):
            while True:
                due = int((time.monotonic() - begin) * RATE)
                for number in range(max(number, due - RATE // 10), due):
                    octets += common.framed(common.query(f"n{number}.corp.example", number & 0xFFFF))
                number = due
                with contextlib.suppress(BlockingIOError):
                    while stream.recv(1 << 20):
                        pass
                    raise ConnectionResetError
                with contextlib.suppress(BlockingIOError):
                    octets = octets[stream.send(octets):] if octets else b""
                common.pause(0.005)


def run(programs, server):
    with common.upstream(rate_limited_upstream.limited()) as limited, common.upstream(lambda label: (0, 1)) as fast:
        text = common.forwarding(server, limited)
        text += f'  - {{name: office, url: "udp://127.0.0.1:{fast}", only: true}}\n'
        text += "routes:\n  - {domains: [corp.example], upstreams: [office]}\n"
        with common.Server(programs, server, text) as victim, common.attacking(lambda: hide(victim.port)):
            failed = rate_limited_upstream.failures(victim)
    names = rate_limited_upstream.NAMES
    return f"{failed} of {names} names failed", failed <= names / 5


if __name__ == "__main__":
    common.main(globals())
