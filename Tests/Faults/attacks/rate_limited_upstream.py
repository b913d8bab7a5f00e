# SPDX-License-Identifier: Apache-2.0
"""An upstream drops queries above 500 a second, and one client asks for 1,000 new names a second."""
import contextlib
import tempfile
import time

import common
import servers

TITLE = "one client queries 1,000 new names a second; the upstream drops queries above 500 a second"
PROMISE = "after 6 s, at most 20 % of another client's names fail; none is sent in the clear"
PEERS = ("unbound",)
RATE, LIMIT, WARM_UP, NAMES, SECONDS = 1000, 500, 6, 100, 10


def limited():
    capacity = LIMIT / 10
    tokens, last = capacity, time.monotonic()

    def rule(label):
        nonlocal tokens, last
        now = time.monotonic()
        tokens, last = min(capacity, tokens + (now - last) * LIMIT), now
        if tokens < 1:
            return None
        tokens -= 1
        return 0, 1

    return rule


def failures(victim):
    """Returns how many names of another client fail after `WARM_UP` seconds of the attack."""
    def asked(label, count, seconds):
        names = [f"{label}{number}.example" for number in range(count)]
        return common.victim(victim.port, common.CLIENTS[1], names, seconds)

    with common.attacking(lambda: common.send_names(victim.port, "new{}.example", RATE, common.CLIENTS[:1])):
        asked("early", NAMES * WARM_UP // SECONDS, WARM_UP)
        return asked("other", NAMES, SECONDS)


def run(programs, server):
    with common.upstream(limited()) as plain, \
            common.Server(programs, server, common.forwarding(server, plain)) as victim:
        failed = failures(victim)
    figure, holds = f"{failed} of {NAMES} names failed over UDP", failed <= NAMES / 5
    if server != "httpdnsd":
        return figure, holds
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        file, context = common.certificate(directory)
        port = stack.enter_context(common.upstream(limited(), context))
        plain = stack.enter_context(common.PlainUpstream())
        text = common.forwarding(server, servers.entry("dot", "tls", port, file))
        text += f'  - {{name: isp, url: "udp://127.0.0.1:{plain.port}"}}\n'
        failed = failures(stack.enter_context(common.Server(programs, server, text)))
        clear = sum(name.startswith("other") for name in set(plain.names))
    figure += f", {failed} over TLS, {clear} in the clear"
    return figure, holds and failed <= NAMES / 5 and clear == 0


if __name__ == "__main__":
    common.main(globals())
