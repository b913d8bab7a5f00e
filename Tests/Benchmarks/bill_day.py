# SPDX-License-Identifier: Apache-2.0
"""Queries of a synthetic day, and the clients that send them."""
import collections
import contextlib
import random
import selectors
import socket
import struct
import time

import programs

# A TTL of 30 s is 1 s.
SPEED = 30

HOURS = 24

TTLS = [30, 60, 60, 120, 300, 600]

ROUTES = ["example.com", "example.net", "example.org"]

# The other names have only IPv4 addresses.
DUAL_STACK = 0.95

A, AAAA, HTTPS = 1, 28, 65

# For each stub resolver: count of programs, types that each program queries, and count of names of each program.
STUBS = {
    "glibc": (18, [A], 60),
    "browser": (5, [A, HTTPS], 300),
    "musl": (1, [A, AAAA], 8),
}


class Trace:
    """All queries of a day, equal for all settings."""

    def __init__(self, options):
        chance = random.Random(options.seed)
        self.ttls = {}
        self.zone = ""
        for number in range(options.names):
            name = f"n{number}.{ROUTES[number % len(ROUTES)]}"
            self.ttls[name] = ttl = chance.choice(TTLS) / SPEED
            self.zone += f"{name} {ttl:g} A 192.0.2.{number % 250 + 1}\n"
        names = list(self.ttls)
        dual = set(chance.sample(names, round(DUAL_STACK * len(names))))
        self.families = {name: 2 if name in dual else 1 for name in names}
        for name in names:
            if name in dual:
                self.zone += f"{name} {self.ttls[name]:g} AAAA 2001:db8::{names.index(name) + 1:x}\n"
        weights = [1 / rank for rank in range(1, len(names) + 1)]
        machine = []
        for stub, (count, types, uses) in STUBS.items():
            for number in range(count):
                own = set()
                while len(own) < min(uses, len(names)):
                    own.add(chance.choices(names, weights)[0] if uses < len(names) else names[len(own)])
                chosen = [name for name in names if name in own]
                machine.append((f"{stub}{number}", types, chosen))
        self.looked_up = []
        time = 0.0
        while time < HOURS * options.hour:
            hour = time / options.hour
            rate = options.rate * (0.4 if hour < 7 or hour > 23 else 1.2)
            time += chance.expovariate(rate)
            program, types, own = chance.choice(machine)
            name = chance.choices(own, [1 / (names.index(each) + 1) for each in own])[0]
            self.looked_up.append((time, program, name, types))
        self.flood = [
            (20 * options.hour + number / 400, f"f{chance.getrandbits(40):x}.{ROUTES[1]}")
            for number in range(int(400 * options.hour))
        ]
        # The last value is true if only the daemons with a title ending in BOTH_QUERIED get the query.
        self.queries = sorted(
            [(time, name, kind, False) for time, _, name, types in self.looked_up for kind in types]
            + [
                (time, name, AAAA, True)
                for time, _, name, types in self.looked_up if AAAA not in types
            ]
            + [(time, name, A, False) for time, name in self.flood]
        )

    def sdk_units(self, share, weight=5):
        fresh, units = {}, 0
        for now, program, name, _ in self.looked_up:
            if fresh.get((program, name), -1) <= now:
                fresh[program, name] = now + share * self.ttls[name]
                units += weight * self.families[name]
        return units


class Clients:
    """Sends each query to all daemons, and counts the queries without a reply."""

    def __init__(self, subjects):
        self.selector = selectors.DefaultSelector()
        self.sockets = {}
        self.waiting = collections.defaultdict(dict)
        self.number = 0
        for subject in subjects:
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            made.setblocking(False)
            self.sockets[subject] = made
            self.selector.register(made, selectors.EVENT_READ, subject)

    def close(self):
        for made in self.sockets.values():
            made.close()
        self.selector.close()

    def send(self, name, kind, is_extra=False):
        self.number = (self.number + 1) % 65536
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
        query = struct.pack(">6H", self.number, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(
            ">2H", kind, 1
        )
        for subject, made in self.sockets.items():
            if is_extra and not subject.gets_both:
                continue
            with contextlib.suppress(OSError):
                made.sendto(query, ("127.0.0.1", subject.daemon.port))
            self.waiting[subject][self.number] = time.monotonic()

    def wait(self, until):
        while True:
            left = until - time.monotonic()
            for key, _ in self.selector.select(max(0, left)):
                with contextlib.suppress(OSError):
                    while True:
                        reply = key.fileobj.recv(4096)
                        self.waiting[key.data].pop(struct.unpack(">H", reply[:2])[0], None)
            if left <= 0:
                return

    def outstanding(self, subject):
        """Upper bound of the calls in flight."""
        return len(self.waiting[subject])

    def forget(self, subject):
        self.waiting[subject].clear()

    def drain(self):
        until = time.monotonic() + 8
        while any(self.waiting.values()) and time.monotonic() < until:
            self.wait(time.monotonic() + 0.05)
        lost = sum(len(each) for each in self.waiting.values())
        if lost > 0:
            raise programs.Failure(f"{lost} queries have no reply")
