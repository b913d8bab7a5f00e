# SPDX-License-Identifier: Apache-2.0
"""Two clients query names with a late first reply; client A queries dead names and working names."""
import common

TITLE = "two clients query 60 names/s (first reply after 0.6 s); client A queries 200 dead and 200 working names/s"
PROMISE = "at most 2 % of the working names of client A fail"
PEERS = ()
LATE, DEAD, LIVE, WARM_UP, SECONDS = 60, 200, 200, 8, 10


def backends():
    """Returns a rule for `common.upstream`: the first query for a late name goes to a slow backend."""
    seen = set()

    def rule(label):
        if label.startswith("dead"):
            return None
        is_late = label.startswith("late") and label not in seen
        seen.add(label)
        return (0.6, 1) if is_late else (0, 1)

    return rule


def run(programs, server):
    victim, *others = common.CLIENTS
    with common.upstream(backends()) as upstream, \
            common.Server(programs, server, common.forwarding(server, upstream)) as daemon, \
            common.attacking(lambda: common.send_names(daemon.port, "dead{}.example", DEAD, [victim])), \
            common.attacking(lambda: common.send_names(daemon.port, "late{}.example", LATE, others)):
        common.pause(WARM_UP)
        names = [f"live{number}.example" for number in range(LIVE * SECONDS)]
        failed = common.victim(daemon.port, victim, names, SECONDS)
    return f"{failed} of {len(names)} names failed", failed <= len(names) / 50


if __name__ == "__main__":
    common.main(globals())
