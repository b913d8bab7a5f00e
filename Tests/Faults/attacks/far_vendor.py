# SPDX-License-Identifier: Apache-2.0
"""A client queries names that a distant vendor never answers, so that the vendor's connections are used up."""
import asyncio
import concurrent.futures
import contextlib
import json
import tempfile
import urllib.parse

import common
import dns.message
import dns.query
from json_silence import Plain

ROUND_TRIP, DEAD_PER_SECOND = 0.15, 3
TITLE = f"{DEAD_PER_SECOND} dead names a second at a vendor over HTTP/1.1 with a round trip of {ROUND_TRIP * 1000:.0f} ms"
PROMISE = "no other name goes to a plain upstream, although handshake and reply exceed `fallback-after`, and the encrypted upstream is down"
PEERS = ()
BURSTS, BURST = 8, 4

SETTINGS = """
vendors:
  api: {kind: json, url: "https://dns.example:PORT/resolve", servers: ["127.0.0.1:PORT"], ca-file: CERTIFICATE}
routes: [{domains: [.], vendors: [api]}]
upstreams:
  - {name: down, url: "tls://dns.example:1", addresses: [127.0.0.1]}
  - {name: isp, url: "udp://127.0.0.1:PLAIN"}
listen: ["127.0.0.1:{port}"]
allow: [127.0.0.0/8, 10.99.0.0/16]
control: {socket: "{directory}/control.sock"}
"""


async def serve(reader, writer):
    """Never answers a call for a dead name."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(head.split(b" ")[1].decode()).query)
            name = query["name"][0]
            if name.startswith("dead"):
                await reader.read()
                return
            records = [{"name": f"{name}.", "type": 1, "TTL": 60, "data": "192.0.2.7"}]
            body = json.dumps({"Status": 0, "Answer": records if query["type"][0] in ("A", "1") else []})
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())


async def delay(reader, writer, handshake):
    """Copies octets after half a round trip; the first octets of a connection also wait for `handshake`."""
    loop = asyncio.get_running_loop()
    begin, octets = loop.time(), b"-"
    with contextlib.suppress(OSError):
        while octets:
            octets = await reader.read(65536)
            is_first = loop.time() - begin < ROUND_TRIP / 2
            loop.call_later(ROUND_TRIP / 2 + (handshake if is_first else 0), writer.write if octets else writer.close,
                            *([octets] if octets else []))


async def listen(port, context):
    behind = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)

    async def accept(reader, writer):
        near = await asyncio.open_connection(*behind.sockets[0].getsockname())
        await asyncio.gather(delay(reader, near[1], ROUND_TRIP), delay(near[0], writer, 0))

    server = await asyncio.start_server(accept, "127.0.0.1", port, backlog=256)
    await server.serve_forever()


async def attack(port):
    loop = asyncio.get_running_loop()
    sender, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=("127.0.0.1", port))
    number = 0
    while True:
        sender.sendto(common.query(f"dead{number}.example.net", number & 0xFFFF))
        number += 1
        await asyncio.sleep(1 / DEAD_PER_SECOND)


def run(programs, server):
    def ask(name):
        message = dns.message.make_query(name, "A")
        return dns.query.tcp(message, "127.0.0.1", 8, daemon.port, source=common.CLIENTS[1])

    port, clear = common.free_port(), set()
    with tempfile.TemporaryDirectory() as directory, Plain(clear) as plain, \
            concurrent.futures.ThreadPoolExecutor(BURST) as pool:
        file, context = common.certificate(directory)
        text = SETTINGS.replace("PORT", str(port)).replace("PLAIN", str(plain.port)).replace("CERTIFICATE", file)
        with common.attacking(lambda: asyncio.run(listen(port, context))), \
                common.Server(programs, server, text) as daemon:
            for number in range(2):
                list(pool.map(ask, [f"first{number}{place}.example" for place in range(BURST)]))
                common.pause(1)
            with common.attacking(lambda: asyncio.run(attack(daemon.port))):
                common.pause(4)
                for number in range(BURSTS):
                    list(pool.map(ask, [f"good{number}{place}.example" for place in range(BURST)]))
                    common.pause(2)
    leaked = sum(name.startswith("good") for name in clear)
    return f"{leaked} of {BURSTS * BURST} names in the clear", leaked == 0


if __name__ == "__main__":
    common.main(globals())
