# SPDX-License-Identifier: Apache-2.0
"""The encrypted upstream is gone: it accepts connections without answering, or refuses connections."""
import tempfile
import time

import clear_text
import common

TITLE = "the encrypted upstream is silent or refuses connections"
PROMISE = "the plain upstream answers the first name within 4.8 s, and each later name within 1 s"
PEERS = ()


def times(programs, server, is_silent):
    with tempfile.TemporaryDirectory(prefix="attack-") as directory, \
            common.EncryptedUpstream(directory) as dot, common.PlainUpstream() as plain, \
            common.Server(programs, server, clear_text.settings(dot, plain)) as victim:
        for number in range(5):
            common.ask_udp(victim.port, f"before{number}.example")
        if is_silent:
            dot.is_silent = True
        else:
            dot.__exit__()
        taken = []
        for number in range(6):
            start = time.monotonic()
            answered = common.ask_udp(victim.port, f"after{number}.example") == 0
            taken.append(time.monotonic() - start if answered else 10)
        return taken[0], max(taken[1:])


def run(programs, server):
    silent, refused = (times(programs, server, kind) for kind in (True, False))
    figure = (f"silent: {silent[0]:.1f} s, then at most {silent[1]:.1f} s; "
              f"refused: {refused[0]:.1f} s, then at most {refused[1]:.1f} s")
    return figure, max(silent[0], refused[0]) <= 4.8 and max(silent[1], refused[1]) <= 1


if __name__ == "__main__":
    common.main(globals())
