# SPDX-License-Identifier: Apache-2.0
"""An overloaded upstream over TLS closes connections, as unbound does; one client queries dead names."""
import asyncio
import contextlib
import tempfile

import common
import servers

TITLE = "one client queries 300 dead names a second; DoT closes connections while 512 names are unanswered; plain UDP last"
PROMISE = "no name of another client in the clear; after 10 s, at most 20 % of the names of other clients fail"
PEERS = ()
RATE, LIMIT, DEAD_SECONDS, WARM_UP, NAMES, SECONDS = 300, 512, 5, 10, 200, 20


async def serve(port, context):
    """A dead name counts as unanswered for some seconds, even if its connection ends."""
    unanswered = 0

    def forget():
        nonlocal unanswered
        unanswered -= 1

    async def converse(reader, writer):
        nonlocal unanswered
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                query = await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))
                if unanswered >= LIMIT:
                    break
                if b"dead" in query:
                    unanswered += 1
                    asyncio.get_running_loop().call_later(DEAD_SECONDS, forget)
                else:
                    writer.write(common.framed(servers.honest(query)))
        writer.close()

    listener = await asyncio.start_server(converse, "127.0.0.1", port, ssl=context, backlog=256)
    await listener.serve_forever()


def run(programs, server):
    def asked(label, number, seconds):
        names = [f"{label}{each}.example" for each in range(number)]
        return common.victim(victim.port, common.CLIENTS[1], names, seconds)

    with tempfile.TemporaryDirectory() as directory, common.PlainUpstream() as plain:
        file, context = common.certificate(directory)
        port = common.free_port()
        text = common.forwarding(server, servers.entry("dot", "tls", port, file))
        text += f'  - {{name: isp, url: "udp://127.0.0.1:{plain.port}"}}\n'
        with common.attacking(lambda: asyncio.run(serve(port, context))), \
                common.Server(programs, server, text) as victim:
            asked("before", 5, 0.5)
            with common.attacking(
                    lambda: common.send_names(victim.port, "n{}.dead.example", RATE, common.CLIENTS[:1])):
                asked("early", NAMES * WARM_UP // SECONDS, WARM_UP)
                failed = asked("other", NAMES, SECONDS)
        clear = sum(name.startswith(("early", "other")) for name in set(plain.names))
    return f"{failed} of {NAMES} names failed, {clear} in the clear", clear == 0 and failed <= NAMES / 5


if __name__ == "__main__":
    common.main(globals())
