# SPDX-License-Identifier: Apache-2.0
"""A client queries names that no resolver answers, to make the daemon avoid its encrypted upstream."""
import socket
import tempfile
import threading
import time

import common
import dns.message

TITLE = "dead names of one client turn encryption off"
PROMISE = "no name is asked in the clear while the encrypted upstream is in service"
PEERS = ()

# Never set; its timeout paces the queries.
CLOCK = threading.Event()

SETTINGS = """
listen: [127.0.0.1:{port}]
control: {socket: {directory}/control.sock}
upstreams:
  - {name: dot, url: "tls://dns.example:DOT", addresses: [127.0.0.1], ca-file: CERTIFICATE}
  - {name: isp, url: "udp://127.0.0.1:PLAIN"}
"""


def settings(dot, plain):
    """Returns the settings with DoT first and plain DNS last."""
    text = SETTINGS.replace("DOT", str(dot.port)).replace("PLAIN", str(plain.port))
    return text.replace("CERTIFICATE", dot.certificate)


def in_the_clear(programs, server, burst, pause, seconds):
    """Sends `burst` queries for dead names every `pause` seconds, and five queries for other names a second.

    Returns how many of the other names the plain upstream saw, and their number.
    """
    with tempfile.TemporaryDirectory(prefix="attack-") as directory, \
            common.EncryptedUpstream(directory) as dot, common.PlainUpstream() as plain, \
            common.Server(programs, server, settings(dot, plain)) as victim:
        end = time.monotonic() + seconds

        def attack():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                number = 0
                while time.monotonic() < end:
                    for _ in range(burst):
                        number += 1
                        query = dns.message.make_query(f"n{number}.dead.example", "A")
                        client.sendto(query.to_wire(), ("127.0.0.1", victim.port))
                    CLOCK.wait(pause)

        attacker = threading.Thread(target=attack)
        attacker.start()
        asked = []
        while time.monotonic() < end:
            name = f"n{len(asked)}.private.example"
            asked.append(name)
            common.ask_udp(victim.port, name)
            CLOCK.wait(0.2)
        attacker.join()
        return len(set(asked) & set(plain.names)), len(asked)


def run(programs, server):
    """Returns the other names that the plain upstream saw under both rates."""
    steady = in_the_clear(programs, server, 1, 0.1, 12)
    page = in_the_clear(programs, server, 4, 4, 12)
    figure = (f"{steady[0]} of {steady[1]} names in the clear at 10 dead names a second, "
              f"{page[0]} of {page[1]} at four every 4 s")
    return figure, steady[0] + page[0] == 0


if __name__ == "__main__":
    common.main(globals())
