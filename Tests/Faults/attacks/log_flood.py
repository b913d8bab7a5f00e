# SPDX-License-Identifier: Apache-2.0
"""An upstream fails and recovers as often as possible, to fill the log."""
import contextlib
import socket
import threading
import time

import common

TITLE = "a server alternately fails and recovers, to fill the log"
PROMISE = "the log has at most 8 lines about the server in 12 s"
PEERS = ()

CLOCK = threading.Event()

SETTINGS = """
listen: [127.0.0.1:{port}]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: isp, url: "udp://127.0.0.1:UPSTREAM"}
"""


def run(programs, server):
    port = common.free_port()
    end = time.monotonic() + 12

    def flap():
        while time.monotonic() < end:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream:
                try:
                    upstream.bind(("127.0.0.1", port))
                except OSError:
                    continue  # The port belongs to the socket of a query.
                upstream.settimeout(0.03)
                close = time.monotonic() + 0.03
                with contextlib.suppress(TimeoutError):
                    while time.monotonic() < close:
                        query, client = upstream.recvfrom(4096)
                        upstream.sendto(common.address_reply(query), client)
            CLOCK.wait(0.03)

    with common.Server(programs, server, SETTINGS.replace("UPSTREAM", str(port))) as victim:
        thread = threading.Thread(target=flap)
        thread.start()
        number = 0
        while time.monotonic() < end:
            number += 1
            common.ask_udp(victim.port, f"n{number}.example.com", 1)
            CLOCK.wait(0.002)
        thread.join()
        lines = [line for line in victim.log_text().splitlines() if "upstream isp" in line]
    return f"{len(lines)} lines in 12 s, {number} queries", len(lines) <= 8


if __name__ == "__main__":
    common.main(globals())
