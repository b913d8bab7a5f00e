# SPDX-License-Identifier: Apache-2.0
"""One client sends 3,000 queries a second over UDP for new names that are never answered."""
import common

TITLE = "one client queries 3,000 dead names a second over UDP"
PROMISE = "at most 2 % of another client's names fail"
PEERS = ("unbound",)

RATE, NAMES, SECONDS = 3000, 240, 12


def run(programs, server):
    rule = lambda label: None if label.startswith("dead") else (0.05, 1)
    with common.upstream(rule) as upstream:
        settings = common.forwarding(server, upstream)
        with common.Server(programs, server, settings) as daemon:
            with common.attacking(
                    lambda: common.send_names(daemon.port, "dead{}.example", RATE, common.CLIENTS[:1])):
                common.victim(daemon.port, common.CLIENTS[1], [f"warm{i}.example" for i in range(30)], 3)
                names = [f"live{number}.example" for number in range(NAMES)]
                failed = common.victim(daemon.port, common.CLIENTS[1], names, SECONDS)
            alive = daemon.is_alive()
    return f"{failed} of {NAMES} names failed", alive and failed <= NAMES * 0.02


if __name__ == "__main__":
    common.main(globals())
