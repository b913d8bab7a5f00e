# SPDX-License-Identifier: Apache-2.0
"""Forty TCP clients query names that an upstream over HTTPS (HTTP/1.1) never answers."""
import asyncio
import contextlib
import subprocess
import tempfile

import common
import servers

CLIENTS, RATE = 40, 120
TITLE = f"dead names at an honest upstream over HTTP/1.1: {RATE} a second from {CLIENTS} clients over TCP"
PROMISE = "at most 2 % of the working names of this machine fail, and at most 2 % of those of the LAN"
PEERS = ()
NAMES, SECONDS = 120, 6
LOCAL, LAN = "127.0.0.1", common.CLIENTS[1]
SOURCES = [f"10.99.0.{number}" for number in range(10, 10 + CLIENTS)]


async def serve(reader, writer):
    with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            query = await reader.readexactly(length)
            if common.first_label(query).startswith("dead"):
                await reader.read()
                return
            writer.write(servers.http1_reply(servers.honest(query)))


async def listen(port, context):
    server = await asyncio.start_server(serve, LOCAL, port, ssl=context, backlog=512)
    await server.serve_forever()


async def attack(port):
    streams = [await asyncio.open_connection(LOCAL, port, local_addr=(source, 0)) for source in SOURCES]
    replies = [asyncio.ensure_future(reader.read()) for reader, _ in streams]
    number = 0
    while replies:
        _, writer = streams[number % CLIENTS]
        writer.write(common.framed(common.query(f"dead{number}.example", number & 0xFFFF)))
        number += 1
        await asyncio.sleep(1 / RATE)


def run(programs, server):
    for source in SOURCES:
        subprocess.run(["ip", "address", "add", f"{source}/32", "dev", "lo"], check=True)
    port = common.free_port()
    with tempfile.TemporaryDirectory() as directory:
        file, context = common.certificate(directory)
        text = common.forwarding(server, servers.entry("honest", "https", port, file))
        with common.attacking(lambda: asyncio.run(listen(port, context))), \
                common.Server(programs, server, text) as daemon:
            common.ask_udp(daemon.port, "first.example")
            with common.attacking(lambda: asyncio.run(attack(daemon.port))):
                common.pause(4)
                failed = [
                    common.victim(daemon.port, source, [f"{kind}{number}.example" for number in range(NAMES)], SECONDS)
                    for kind, source in (("local", LOCAL), ("lan", LAN))]
    return f"{failed[0]} and {failed[1]} of {NAMES} failed", max(failed) <= NAMES * 0.02


if __name__ == "__main__":
    common.main(globals())
