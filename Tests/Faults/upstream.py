# SPDX-License-Identifier: Apache-2.0
"""A resolver that knows every name of `storm`, with faults set on standard input.

The reply for every other name, also for the health probe `. NS`, is NXDOMAIN. Each input line sets a fault: well (no
fault), silent, slow, servfail, wrong-id, refuses. During a fault, TCP connections are reset.
"""
import heapq
import random
import re
import select
import socket
import struct
import sys
import time

# Delay in seconds of a slow reply; the timeouts of the forwarders are longer.
SLOW = 1.5

NAME = re.compile(rb"(hot|brief|new)(\d{7})")
BASES = {b"hot": (0, 86400), b"brief": (4096, 10), b"new": (8192, 60)}


def place(word, number):
    base, ttl = BASES[word]
    span = 65536 - base if word == b"new" else 4096
    return base + number % span, ttl


def reply(query, fault):
    if len(query) < 17:
        return None
    end = query.index(0, 12) + 5
    # Compares in lower case, because the query has mixed case; the reply repeats the query's letter case.
    found = NAME.fullmatch(query[13:13 + query[12]].lower())
    identity = query[:2]
    if fault == "wrong-id":
        identity = struct.pack(">H", struct.unpack(">H", identity)[0] ^ random.randint(1, 65535))
    rcode, records = 0, b""
    if fault == "servfail":
        rcode = 2
    elif not found:
        rcode = 3
    elif query[end - 4:end] == b"\0\1\0\1":
        offset, ttl = place(found[1], int(found[2]))
        records = struct.pack(">HHHIH2BH", 0xC00C, 1, 1, ttl, 4, 11, 19, offset)
    head = struct.pack(">2s2B4H", identity, 0x81, 0x80 | rcode, 1, bool(records), 0, 0)
    return head + query[12:end] + records


class Upstream:
    def __init__(self, address, port):
        self.address = (address, port)
        self.fault, self.due, self.number = "well", [], 0
        self.datagrams = self.streams = None
        self.open()

    def open(self):
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.datagrams.bind(self.address)
        self.streams = socket.create_server(self.address, backlog=1024)

    def turn(self, fault):
        if (fault == "refuses") != (self.datagrams is None):
            if self.datagrams:
                self.datagrams.close()
                self.streams.close()
                self.datagrams = self.streams = None
            else:
                self.open()
        self.fault = fault

    def datagram(self):
        query, client = self.datagrams.recvfrom(4096)
        answer = None if self.fault == "silent" else reply(query, self.fault)
        if answer and self.fault == "slow":
            self.number += 1
            heapq.heappush(self.due, (time.monotonic() + SLOW, self.number, answer, client))
        elif answer:
            self.datagrams.sendto(answer, client)

    def stream(self):
        client, _ = self.streams.accept()
        with client:
            client.settimeout(1)
            try:
                length = struct.unpack(">H", client.recv(2, socket.MSG_WAITALL))[0]
                query = client.recv(length, socket.MSG_WAITALL)
            except (OSError, struct.error):
                return
            if self.fault == "well" and (answer := reply(query, "well")):
                client.sendall(struct.pack(">H", len(answer)) + answer)
            else:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("2i", 1, 0))

    def run(self):
        while True:
            wait = max(0, self.due[0][0] - time.monotonic()) if self.due else None
            sockets = [each for each in (self.datagrams, self.streams) if each]
            ready, _, _ = select.select([sys.stdin, *sockets], [], [], wait)
            while self.due and self.due[0][0] <= time.monotonic():
                _, _, answer, client = heapq.heappop(self.due)
                if self.datagrams:
                    self.datagrams.sendto(answer, client)
            if self.datagrams in ready:
                self.datagram()
            if self.streams in ready:
                self.stream()
            if sys.stdin in ready:
                line = sys.stdin.readline()
                if not line:
                    return
                self.turn(line.strip())
                print("is", self.fault, flush=True)


if __name__ == "__main__":
    made = Upstream(sys.argv[1], int(sys.argv[2]))
    print("listening", flush=True)
    made.run()
