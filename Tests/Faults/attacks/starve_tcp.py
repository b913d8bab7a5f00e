# SPDX-License-Identifier: Apache-2.0
"""One client keeps as many queries pending over TCP as possible, for names that are never answered."""
import contextlib
import itertools
import common

TITLE = "one client pipelines dead names over TCP"
PROMISE = "at most 2 % of another client's names fail"
PEERS = ("unbound",)

CONNECTIONS, QUERIES, NAMES, SECONDS = 120, 100, 240, 8


class Connection:
    """A connection full of queries for dead names."""

    def __init__(self, port):
        self.stream = common.connect(port, common.CLIENTS[0])
        self.stream.setblocking(False)
        self.waiting, self.unsent, self.unread = 0, b"", b""

    def ask(self, numbers):
        while self.waiting < QUERIES:
            number = next(numbers)
            message = common.query(f"dead{number}.example", number & 0xFFFF)
            self.unsent += common.framed(message)
            self.waiting += 1
        with contextlib.suppress(BlockingIOError):
            self.unsent = self.unsent[self.stream.send(self.unsent):]

    def read(self):
        with contextlib.suppress(BlockingIOError):
            octets = self.stream.recv(65535)
            if not octets:
                return False
            self.unread += octets
            while len(self.unread) >= 2:
                end = 2 + int.from_bytes(self.unread[:2], "big")
                if len(self.unread) < end:
                    break
                self.unread = self.unread[end:]
                self.waiting -= 1
        return True


def attack(port):
    connections, numbers = [], itertools.count()
    while True:
        with contextlib.suppress(OSError):
            while len(connections) < CONNECTIONS:
                connections.append(Connection(port))
        for connection in list(connections):
            try:
                connection.ask(numbers)
                if connection.read():
                    continue
            except OSError:
                pass
            connections.remove(connection)
            connection.stream.close()
        common.pause(0.05)


def run(programs, server):
    rule = lambda label: None if label.startswith("dead") else (0.05, 1)
    with common.upstream(rule) as upstream:
        settings = common.forwarding(server, upstream)
        with common.Server(programs, server, settings) as daemon:
            with common.attacking(lambda: attack(daemon.port)):
                common.victim(daemon.port, common.CLIENTS[1], [f"warm{i}.example" for i in range(20)], 2)
                names = [f"live{number}.example" for number in range(NAMES)]
                failed = common.victim(daemon.port, common.CLIENTS[1], names, SECONDS)
            alive = daemon.is_alive()
    return f"{failed} of {NAMES} names failed", alive and failed <= NAMES * 0.02


if __name__ == "__main__":
    common.main(globals())
