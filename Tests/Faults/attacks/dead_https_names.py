# SPDX-License-Identifier: Apache-2.0
"""A program on this machine, and then 1,000 forged addresses, query names that an upstream over HTTPS never answers."""
import asyncio
import contextlib
import subprocess
import tempfile

import common
import servers

TITLE = "dead names at an honest upstream over HTTPS: 100 a second from this machine, 600 from 1,000 forged addresses"
PROMISE = "at most 2 % of the working names of this machine fail, and at most 2 % of those of the LAN"
PEERS = ()
NAMES, SECONDS = 120, 6
LOCAL, LAN, REMOTE = "127.0.0.1", common.CLIENTS[1], common.CLIENTS[2]


async def serve(reader, writer):
    connection = servers.HTTP2(writer.write)
    with contextlib.suppress(OSError):
        while (octets := await reader.read(65536)) and not writer.is_closing():
            for stream, query in connection.queries(octets):
                if not common.first_label(query).startswith("dead"):
                    connection.begin(stream)
                    connection.end(stream, servers.honest(query))


async def listen(port, context):
    server = await asyncio.start_server(serve, LOCAL, port, ssl=context, backlog=512)
    await server.serve_forever()


def measure(programs, server, text, rate, sources, target):
    with common.Server(programs, server, text) as daemon, common.attacking(
            lambda: common.send_names(daemon.port, "dead{}.example", rate, sources, target)):
        common.pause(4)
        return tuple(
            common.victim(daemon.port, source, [f"{kind}{number}.example" for number in range(NAMES)], SECONDS, 5)
            for kind, source in (("local", LOCAL), ("lan", LAN)))


def run(programs, server):
    forged = [f"10.32.{number >> 8}.{number & 255}" for number in range(1000)]
    subprocess.run(["ip", "route", "replace", "local", "10.32.0.0/16", "dev", "lo"], check=True)
    port = common.free_port()
    with tempfile.TemporaryDirectory() as directory:
        file, context = common.certificate(directory)
        context.set_alpn_protocols(["h2"])
        text = common.forwarding(server, servers.entry("honest", "https", port, file))
        text = text.replace('["127.0.0.1:{port}"]', f'["127.0.0.1:{{port}}", "{REMOTE}:{{port}}"]')
        text = text.replace("10.99.0.0/24", "10.0.0.0/8")
        with common.attacking(lambda: asyncio.run(listen(port, context))):
            results = (measure(programs, server, text, 100, [LOCAL], LOCAL),
                       measure(programs, server, text, 600, forged, REMOTE))
    figures = [f"{local} and {lan} of {NAMES} failed" for local, lan in results]
    return ", then ".join(figures), max(map(max, results)) <= NAMES * 0.02


if __name__ == "__main__":
    common.main(globals())
