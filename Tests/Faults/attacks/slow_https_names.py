# SPDX-License-Identifier: Apache-2.0
"""Three clients ask an honest upstream over HTTPS for names that it answers late."""
import asyncio
import contextlib
import tempfile

import common
import servers

TITLE = "three clients query 600 slow names a second at an honest upstream over HTTPS"
PROMISE = "during the attack, each fast name of this upstream is answered within 1 s"
PEERS = ()
RATE, DELAY = 600, 2.5


async def serve(reader, writer):
    """Answers one connection; sends each body 2 ms after its head, so that the daemon reads twice."""
    loop = asyncio.get_running_loop()
    connection = servers.HTTP2(writer.write)

    def reply(stream, query):
        connection.begin(stream)
        loop.call_later(0.002, connection.end, stream, servers.honest(query))

    with contextlib.suppress(OSError):
        while octets := await reader.read(65536):
            for stream, query in connection.queries(octets):
                is_slow = common.first_label(query).startswith("slow")
                loop.call_later(DELAY if is_slow else 0, reply, stream, query)


async def listen(port, context):
    server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=context, backlog=512)
    await server.serve_forever()


def run(programs, server):
    port = common.free_port()
    with tempfile.TemporaryDirectory() as directory:
        file, context = common.certificate(directory)
        context.set_alpn_protocols(["h2"])
        text = common.forwarding(server, servers.entry("honest", "https", port, file))
        with common.attacking(lambda: asyncio.run(listen(port, context))), \
                common.Server(programs, server, text) as victim, common.attacking(
                    lambda: common.send_names(victim.port, "slow{}.example", RATE, common.CLIENTS)):
            common.pause(1)
            return servers.other_names(victim.port, interval=0.05)


if __name__ == "__main__":
    common.main(globals())
