# SPDX-License-Identifier: Apache-2.0
"""Upstreams send replies without an address: long alias chains, referrals, only aliases, repeated records."""
import contextlib
import socket
import struct
import threading

import common

TITLE = "unusual answers of an upstream"
PROMISE = "no failure becomes an empty answer, and replies have the records that the RFCs require"
PEERS = ("unbound",)

SETTINGS = {
    "httpdnsd": """
listen: ["127.0.0.1:{port}"]
control: {socket: "{directory}/control.sock"}
accelerate: {loopback: "off"}
routes: [{domains: [second.example], upstreams: [odd, good]}]
upstreams:
  - {name: odd, url: "udp://127.0.0.1:UPSTREAM"}
  - {name: good, url: "udp://127.0.0.1:OTHER", only: true}
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
    qname-minimisation: no
forward-zone:
    name: "second.example"
    forward-addr: 127.0.0.1@UPSTREAM
    forward-addr: 127.0.0.1@OTHER
forward-zone:
    name: "."
    forward-addr: 127.0.0.1@UPSTREAM
""",
}

LONG = ".".join(letter * 60 for letter in "abcd")
A, NS, CNAME, DNAME = 1, 2, 5, 39
NOERROR, SERVFAIL, YXDOMAIN = 0, 2, 6
RECURSION = 0x0080
ADDRESS = bytes([192, 0, 2, 1])


def wire(name):
    labels = [label for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0"


def record(owner, kind, data):
    data = wire(data) if isinstance(data, str) else data
    return wire(owner) + struct.pack("!HHIH", kind, 1, 300, len(data)) + data


def question_of(message):
    labels, offset = [], 12
    while message[offset]:
        labels.append(message[offset + 1:offset + 1 + message[offset]].decode().lower())
        offset += 1 + message[offset]
    return ".".join(labels), offset + 5


def reply_to(query, answers=(), authorities=(), rcode=NOERROR, flags=RECURSION):
    end = question_of(query)[1]
    head = struct.pack("!HHHHH", 0x8100 | flags | rcode, 1, len(answers), len(authorities), 0)
    return query[:2] + head + query[12:end] + b"".join(answers) + b"".join(authorities)


def odd(query):
    name = question_of(query)[0]
    label, _, parent = name.partition(".")
    if label == "long":
        names = [name] + [f"n{number}.chain.example" for number in range(1, 18)]
        aliases = [record(names[i], CNAME, names[i + 1]) for i in range(17)]
        return reply_to(query, [*aliases, record(names[17], A, ADDRESS)])
    if label == "tree":
        return reply_to(query, [record(parent, DNAME, LONG + ".net")], rcode=YXDOMAIN)
    if label == "lame":
        return reply_to(query, (), [record(parent, NS, "ns1.example")], flags=0)
    if label == "alias":
        return reply_to(query, [record(name, CNAME, "target.example")])
    if label in ("circle", "circle2"):
        return reply_to(query, [record(name, CNAME, "circle2.example" if label == "circle" else "circle.example")])
    return reply_to(query, [record(name, A, ADDRESS)] * (20 if label == "many" else 1))


def good(query):
    return reply_to(query, [record(question_of(query)[0], A, bytes([192, 0, 2, 2]))])


def serve(stack, answer):
    listener = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    listener.bind(("127.0.0.1", 0))

    def run():
        while True:
            try:
                octets, client = listener.recvfrom(4096)
                listener.sendto(answer(octets), client)
            except OSError:
                return

    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()[1]


def skip_name(message, offset):
    while message[offset]:
        if message[offset] >= 0xC0:
            return offset + 2
        offset += 1 + message[offset]
    return offset + 1


def ask(client, name):
    client.send(struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + wire(name) + struct.pack("!HH", A, 1))
    reply = client.recv(65535)
    offset, found = question_of(reply)[1], []
    for _ in range(struct.unpack("!H", reply[6:8])[0]):
        offset = skip_name(reply, offset)
        kind, _, _, count = struct.unpack("!HHIH", reply[offset:offset + 10])
        offset += 10 + count
        if kind == A:
            found.append(reply[offset - 1])
    return reply[3] & 15, found


def has_opt(client, flags, questions):
    question = b"\7example\0\0\1\0\1"
    opt = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"
    client.send(struct.pack("!HHHHHH", 7, flags, questions, 0, 0, 1) + question * questions + opt)
    reply = client.recv(4096)
    return reply[10:12] == b"\0\1"


def run(programs, server):
    with contextlib.ExitStack() as stack:
        settings = SETTINGS[server].replace("UPSTREAM", str(serve(stack, odd)))
        settings = settings.replace("OTHER", str(serve(stack, good)))
        daemon = stack.enter_context(common.Server(programs, server, settings))
        client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        client.settimeout(8)
        client.connect(("127.0.0.1", daemon.port))
        kept = {}

        def promise(title, check):
            try:
                kept[title] = bool(check())
            except TimeoutError:
                kept[title] = False

        promise("17 aliases: whole or SERVFAIL",
                lambda: ask(client, "long.example") in [(SERVFAIL, []), (NOERROR, [1])])
        promise("YXDOMAIN passed", lambda: ask(client, "tree.dname.example")[0] == YXDOMAIN)
        promise("referral: the next upstream",
                lambda: ask(client, "lame.second.example") == (NOERROR, [2]))
        promise("referral alone: SERVFAIL", lambda: ask(client, "lame.example")[0] == SERVFAIL)
        promise("alias completed", lambda: ask(client, "alias.example") == (NOERROR, [1]))
        promise("circle: SERVFAIL", lambda: ask(client, "circle.example")[0] == SERVFAIL)
        promise("20 times one record: one", lambda: ask(client, "many.example") == (NOERROR, [1]))
        promise("NOTIMP with EDNS", lambda: has_opt(client, 0x1000, 1))
        promise("FORMERR with EDNS", lambda: has_opt(client, 0x0100, 2))
    broken = [title for title, holds in kept.items() if not holds]
    figure = f"{len(kept) - len(broken)} of {len(kept)} kept"
    return figure + (": broken " + "; ".join(broken) if broken else ""), not broken


if __name__ == "__main__":
    common.main(globals())
