# SPDX-License-Identifier: Apache-2.0
"""Honest and hostile servers over TLS and HTTPS, and the measurement of other names during the attack."""
import contextlib
import socket
import threading
import time

import common

SECONDS = 6
PROMISE = "during the attack, each name that another server answers takes at most 1 s"

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, DATA, SETTINGS, PING, WINDOW_UPDATE = 1, 0, 4, 6, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1

# Status 200 and the content type of a DNS message (RFC 7541 §6).
REPLY_HEADERS = b"\x88\x0f\x10\x17application/dns-message"


def entry(name, scheme, port, certificate, addresses=("127.0.0.1",), more=""):
    path = "/dns-query" if scheme == "https" else ""
    return (f'{{name: {name}, url: "{scheme}://dns.example:{port}{path}", '
            f'addresses: [{", ".join(addresses)}], ca-file: {certificate}{more}}}')


def hostile(server, scheme, port, certificate, addresses=("127.0.0.1",)):
    """Returns settings to append to those of `common.forwarding`: names below hostile.example go to this server."""
    if server == "httpdnsd":
        return f"""
  - {entry("hostile", scheme, port, certificate, addresses, ", only: true")}
routes: [{{domains: [hostile.example], upstreams: [hostile]}}]
"""
    return f"""
server:
  tls-cert-bundle: {certificate}
forward-zone:
  name: "hostile.example"
  forward-tls-upstream: yes
  forward-addr: {addresses[0]}@{port}#dns.example
"""


@contextlib.contextmanager
def listening(serve, addresses=("127.0.0.1",)):
    """Runs a server in its own process, with `serve(client)` in a thread for each connection; yields its port."""
    with contextlib.ExitStack() as stack:
        listeners, port = [], 0
        for address in addresses:
            listeners.append(stack.enter_context(socket.create_server((address, port), backlog=128)))
            port = listeners[0].getsockname()[1]

        def converse(client):
            with contextlib.suppress(OSError), client:
                serve(client)

        def accept(listener):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=converse, args=(client,), daemon=True).start()

        def work():
            for listener in listeners[1:]:
                threading.Thread(target=accept, args=(listener,), daemon=True).start()
            accept(listeners[0])

        stack.enter_context(common.attacking(work))
        yield port


def honest(query):
    return common.answer(query, 1 if query[12] else 0)


def http1(stream):
    octets = stream.makefile("rb")
    while octets.readline():
        length = 0
        while line := octets.readline().strip().lower():
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        yield octets.read(length)


def http1_reply(message):
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\nContent-Length: {len(message)}\r\n\r\n"
    return head.encode() + message


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


class HTTP2:
    """The server side of an HTTP/2 connection; `send` sends octets."""

    def __init__(self, send):
        self.send = send
        self._octets, self._bodies = b"", {}
        send(frame(SETTINGS, 0, 0))

    def queries(self, octets):
        self._octets += octets
        if self._octets.startswith(PREFACE):
            self._octets = self._octets[len(PREFACE):]
        # An incomplete connection preface looks like a frame of 5 MB, so the loop waits for more octets.
        while len(self._octets) >= 9 and len(self._octets) >= (end := 9 + int.from_bytes(self._octets[:3], "big")):
            head, payload, self._octets = self._octets[:9], self._octets[9:end], self._octets[end:]
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            if kind in (SETTINGS, PING) and not flags & ACK:
                self.send(frame(kind, ACK, 0, payload if kind == PING else b""))
            elif kind == DATA:
                if payload:
                    self.send(frame(WINDOW_UPDATE, 0, 0, len(payload).to_bytes(4, "big")))
                self._bodies[stream] = self._bodies.get(stream, b"") + payload
                if flags & END_STREAM:
                    yield stream, self._bodies.pop(stream)

    def begin(self, stream):
        self.send(frame(HEADERS, END_HEADERS, stream, REPLY_HEADERS))

    def end(self, stream, message):
        self.send(frame(DATA, END_STREAM, stream, message))


def other_names(port, suffix="example.com", interval=0.02):
    """Asks for new names for some seconds; returns the longest time as text, and whether `PROMISE` holds."""
    worst, number, end = 0.0, 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        common.pause(interval)
        number += 1
        start = time.monotonic()
        if common.ask_udp(port, f"n{number}.{suffix}", SECONDS) != 0:
            return "no answer", False
        worst = max(worst, time.monotonic() - start)
    return f"worst {worst * 1000:.0f} ms", worst <= 1


def attacked(programs, server, scheme, certificate, serve):
    with listening(serve) as port, common.upstream(lambda label: (0, 1)) as plain:
        text = common.forwarding(server, plain) + hostile(server, scheme, port, certificate)
        with common.Server(programs, server, text) as victim, common.attacking(
                lambda: common.send_names(victim.port, "n{}.hostile.example", 50, common.CLIENTS[:1])):
            return other_names(victim.port)
