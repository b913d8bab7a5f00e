# SPDX-License-Identifier: Apache-2.0
"""An upstream over TCP sends an endless stream of messages that answer no query."""
import contextlib
import socket
import threading
import time

import common

TITLE = "an upstream over TCP sends without end"
PROMISE = "a name that needs no upstream is answered within 1 s meanwhile"
PEERS = ()
SECONDS = 6

SETTINGS = """
listen: [127.0.0.1:{port}]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: hostile, url: "tcp://127.0.0.1:PORT"}
"""


def flood(listener):
    junk = common.framed(b"\x55" * 12) * 9000

    def send(client):
        end = time.monotonic() + SECONDS
        with contextlib.suppress(OSError), client:
            client.recv(2)
            while time.monotonic() < end:
                client.sendall(junk)

    with contextlib.suppress(OSError):
        while True:
            threading.Thread(target=send, args=(listener.accept()[0],), daemon=True).start()


def run(programs, server):
    """Returns the longest time until `localhost` was answered."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=flood, args=(listener,), daemon=True).start()
        text = SETTINGS.replace("PORT", str(listener.getsockname()[1]))
        with common.Server(programs, server, text) as victim, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.sendto(common.query("first.example"), ("127.0.0.1", victim.port))
            worst, end = 0.0, time.monotonic() + SECONDS
            number = 0
            while time.monotonic() < end:
                common.pause(0.2)
                number += 1
                start = time.monotonic()
                rcode = common.ask_udp(victim.port, f"n{number}.localhost", SECONDS + 4)
                worst = max(worst, time.monotonic() - start)
                if rcode is None:
                    return "no answer", False
    return f"worst {worst * 1000:.0f} ms", worst <= 1


if __name__ == "__main__":
    common.main(globals())
