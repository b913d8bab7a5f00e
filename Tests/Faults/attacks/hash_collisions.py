# SPDX-License-Identifier: Apache-2.0
"""A client fills two cache buckets with queries chosen to collide, to evict a popular name."""
import itertools
import socket
import struct
import threading

import common

TITLE = "questions that are chosen to share two buckets of the cache"
PROMISE = "120 of 120 chosen questions stay cached, and 2,000 do not evict a popular name"
PEERS = ("unbound",)

GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1
KEPT, FLOOD = 120, 2000

SETTINGS = {
    "httpdnsd": """
listen: ["127.0.0.1:{port}"]
control: {socket: "{directory}/control.sock"}
accelerate: {loopback: "off"}
cache: {size: 64MiB}
upstreams: [{name: test, url: "udp://127.0.0.1:UPSTREAM"}]
""",
    "unbound": """
server:
    interface: 127.0.0.1
    port: {port}
    username: ""
    chroot: ""
    pidfile: ""
    directory: "{directory}"
    do-not-query-localhost: no
    module-config: "iterator"
    msg-cache-size: 32m
    rrset-cache-size: 32m
    qname-minimisation: no
forward-zone:
    name: "."
    forward-addr: 127.0.0.1@UPSTREAM
""",
}


class Upstream(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.asked = 0

    def run(self):
        while True:
            try:
                query, client = self.socket.recvfrom(4096)
            except OSError:
                return
            end = question_end(query)
            record = b"\xC0\x0C" + query[end - 4:end] + struct.pack("!IH", 3600, 4) + b"\x0b\0\0\x01"
            self.asked += 1
            head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
            self.socket.sendto(head + query[12:end] + record, client)


def question_end(message):
    offset = 12
    while message[offset]:
        offset += 1 + message[offset]
    return offset + 5


def chosen(base, tail):
    """Yields questions as name and type; eight octets of the name cancel the type in the hash."""
    for kind in range(256, 65000):
        octets = ((base ^ (kind * GOLDEN)) & MASK).to_bytes(8, "little")
        name = octets + tail
        if not any(0x41 <= octet <= 0x5A for octet in octets[1:]) and is_name(name):
            yield name, kind


def is_name(octets):
    offset = 0
    while offset < len(octets) and 0 < octets[offset] <= 63:
        offset += 1 + octets[offset]
    return offset == len(octets) - 1 and octets[offset] == 0


def base_of(name, kind):
    return int.from_bytes(name[:8], "little") ^ (kind * GOLDEN & MASK)


def ask(client, name, kind):
    client.send(struct.pack("!HHHHHH", kind, 0x0100, 1, 0, 0, 0) + name + struct.pack("!HH", kind, 1))
    client.recv(4096)


def run(programs, server):
    upstream = Upstream()
    upstream.start()
    settings = SETTINGS[server].replace("UPSTREAM", str(upstream.port))
    with common.Server(programs, server, settings) as daemon, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        client.connect(("127.0.0.1", daemon.port))
        # The rest of the name has labels of one octet, so the name is valid with any odd length of the first label.
        stream = chosen(0x212121212121211F, b"\1" * 58 + b"\0")
        first = [next(stream) for _ in range(KEPT)]
        for name, kind in first:
            ask(client, name, kind)
        # Queries in reverse order: in the order of storage, each query for an evicted entry would evict the next entry.
        before = upstream.asked
        for name, kind in reversed(first):
            ask(client, name, kind)
        kept = KEPT - (upstream.asked - before)

        # All entries get hits. Then the cache evicts the oldest entry of a full bucket, which is the popular name.
        popular = b"\7popular\7example\0"
        for _ in range(4):
            ask(client, popular, 1)
        attack = list(chosen(base_of(popular, 1), popular[8:]))
        sent = 0
        for name, kind in itertools.islice(itertools.cycle(attack), FLOOD // 3):
            for _ in range(3):
                ask(client, name, kind)
            sent += 3
        before = upstream.asked
        ask(client, popular, 1)
        evicted = upstream.asked != before
    upstream.socket.close()
    fate = f"popular name {'evicted' if evicted else 'kept'} after {sent} queries"
    return f"{kept} of {KEPT} kept, {fate}", kept == KEPT and not evicted


if __name__ == "__main__":
    common.main(globals())
