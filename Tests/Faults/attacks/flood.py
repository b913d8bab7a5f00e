# SPDX-License-Identifier: Apache-2.0
"""Two processes send new names over UDP as fast as they can while systemd watches the daemon."""
import contextlib
import os
import socket
import tempfile
import time

import common

TITLE = "a flood of new names over UDP, with a watchdog timeout of 3 s"
PROMISE = "the watchdog is notified in time"
PEERS = ()

WATCHDOG, SECONDS = 3, 15


def attack(port, part):
    message = bytearray(common.query(f"p{part}-00000000.flood.example"))
    place = message.index(b"00000000")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", port))
        number = 0
        while True:
            message[place:place + 8] = b"%08d" % number
            with contextlib.suppress(OSError):
                client.send(message)
            number += 1


def run(programs, server):
    with tempfile.TemporaryDirectory() as directory, common.upstream(lambda label: (0, 1)) as upstream:
        path = os.path.join(directory, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(path)
            environment = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": str(WATCHDOG * 1_000_000)}
            settings = common.forwarding(server, upstream)
            with common.Server(programs, server, settings, environment) as daemon:
                with common.attacking(lambda: attack(daemon.port, 1)):
                    with common.attacking(lambda: attack(daemon.port, 2)):
                        begin = latest = time.monotonic()
                        longest = 0
                        while time.monotonic() < begin + SECONDS:
                            notify.settimeout(0.1)
                            with contextlib.suppress(OSError):
                                if b"WATCHDOG=1" in notify.recv(4096):
                                    latest = time.monotonic()
                            longest = max(longest, time.monotonic() - latest)
                alive = daemon.is_alive()
    return f"longest time without a notification {longest:.1f} s", alive and longest < WATCHDOG


if __name__ == "__main__":
    common.main(globals())
