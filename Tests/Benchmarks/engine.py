# SPDX-License-Identifier: Apache-2.0
"""Capacity of the Redis server of a fleet (*engine*): processor time by command and by delivered message."""
import os
import resource
import select
import socket
import subprocess
import tempfile
import threading
import time

import harness
import tables

NAME = "engine"

pause = threading.Event().wait

VALUE, KEY, MESSAGE = b"v" * 130, b"httpdnsd:{0123456789abcdef0123456789abcdef}:v", b"m" * 150
RELEASE = b"if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
TTL, BEAT = 60, 20
FLEETS = [(200, 200), (200, 2_000), (1_000, 1_000), (2_000, 2_000), (10_000, 200), (10_000, 2_000), (10_000, 10_000)]


def add_options(parser):
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--machines", type=int, default=4_000, help="connected machines (default 4000)")


def command(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


class Engine:
    """A redis-server on a free port; use it as a context manager."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="engine-")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--maxclients", "20000",
             "--dir", self.directory.name], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while True:
            try:
                self.stream = self.connect()
                return self
            except OSError:
                if time.monotonic() > end:
                    raise harness.Failure("redis-server does not start") from None
                pause(0.02)

    def __exit__(self, *_):
        self.stream.close()
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def cpu(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    def memory(self):
        self.stream.sendall(command("INFO", "memory"))
        text = self.stream.recv(65536).decode()
        return int(text.split("used_memory:")[1].split()[0])

    def replies(self, count):
        self.stream.sendall(command("PING"))
        octets = b""
        while not octets.endswith(b"+PONG\r\n"):
            octets = octets[-64:] + self.stream.recv(1 << 16)


def key(number):
    return b"httpdnsd:{%032x}:v" % number


def lead(number):
    lease = key(number)[:-1] + b"l"
    return [
        command("GETRANGE", key(number), 0, 4096),
        command("SET", lease, b"t" * 16, "NX", "PX", 4000) + command("GETRANGE", key(number), 0, 4096),
        command("SET", key(number), VALUE, "PX", 60_000) + command("PUBLISH", "httpdnsd:messages", MESSAGE),
        command("EVAL", RELEASE, 1, lease, b"t" * 16),
    ]


def find(number):
    return [command("GETRANGE", key(number), 0, 4096)]


def cost(engine, commands, count=5_000):
    """Returns µs for each name; sends one command at a time."""
    engine.replies(0)
    begin = engine.cpu()
    for number in range(count):
        for octets in commands(number):
            engine.stream.sendall(octets)
            engine.stream.recv(65536)
    engine.replies(0)
    return (engine.cpu() - begin) / count * 1e6


def fan_out(engine, machines):
    """Returns the processor time for each delivered message in µs, and octets of memory for each machine."""
    before, poll, streams = engine.memory(), select.epoll(), []
    try:
        for _ in range(machines):
            stream = engine.connect()
            stream.sendall(command("SUBSCRIBE", "httpdnsd:messages"))
            stream.recv(4096)
            stream.setblocking(False)
            poll.register(stream, select.EPOLLIN)
            streams.append(stream)
        table = {stream.fileno(): stream for stream in streams}
        octets = (engine.memory() - before) / machines
        count = max(20, 400_000 // machines)
        length = len(b"*3\r\n$7\r\nmessage\r\n$17\r\nhttpdnsd:messages\r\n$150\r\n") + len(MESSAGE) + 2
        begin = engine.cpu()
        for _ in range(count):
            engine.stream.sendall(command("PUBLISH", "httpdnsd:messages", MESSAGE))
            left = machines * length
            while left > 0:
                for descriptor, _ in poll.poll(5):
                    left -= len(table[descriptor].recv(65536))
            engine.stream.recv(64)
        return (engine.cpu() - begin) / (count * machines) * 1e6, octets
    finally:
        poll.close()
        for stream in streams:
            stream.close()


def run(bench, options):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 30_000), hard))
    figures = {name: [] for name in ("lead", "find", "beat", "message", "machine", "name")}
    for _ in range(options.rounds):
        with Engine() as engine:
            empty = engine.memory()
            figures["lead"].append(cost(engine, lead))
            figures["name"].append((engine.memory() - empty) / 5_000)
            figures["find"].append(cost(engine, find))
            figures["beat"].append(cost(engine, lambda number: [
                command("TIME") + command("ZADD", "httpdnsd:m", number, b"%016d" % number)
                + command("ZREMRANGEBYSCORE", "httpdnsd:m", "-inf", number - 1_000)
                + command("ZCARD", "httpdnsd:m") + command("EXPIRE", "httpdnsd:m", 120)]))
            message, machine = fan_out(engine, options.machines)
            figures["message"].append(message)
            figures["machine"].append(machine)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    rows = [
        tables.row("engine: " + what, unit, {"redis": figures[name]})
        for what, unit, name in [
            ("a name, machine that calls the vendor (4 round trips)", "µs", "lead"),
            ("a name, machine that finds the answer", "µs", "find"),
            ("sign of life", "µs", "beat"),
            (f"message, each of {options.machines:,} machines", "µs", "message"),
            ("memory, machine", "octets", "machine"),
            ("memory, name", "octets", "name"),
        ]
    ]
    return {
        "benchmark": NAME,
        "about": "Processor time of redis-server, and the load of fleets: all names are in use on all machines, with "
        f"a TTL of {TTL} s.",
        "parameters": {"rounds": options.rounds, "machines": options.machines},
        "rows": rows,
        "fleets": [load(machines, names, rows) for machines, names in FLEETS],
        "targets": [],
    }


def load(machines, names, rows):
    lead_cost, _, beat, message, machine, name = [tables.middle(row, "redis") for row in rows]
    refreshes, messages = names / TTL, machines * names / TTL
    return {
        "machines": machines,
        "names": names,
        "commands": round(6 * refreshes + 6 * machines / BEAT),
        "messages": round(messages),
        "megabits": messages * (len(MESSAGE) + 60) * 8 / 1e6,
        "core": (refreshes * lead_cost + machines / BEAT * beat + messages * message) / 1e6,
        "mebioctets": (machines * 2 * machine + names * name) / (1 << 20),
        "alone": round(messages),
        "calls": round(refreshes, 1),
    }


def markdown(result):
    head = ["machines", "names", "vendor calls/s alone", "in a fleet", "commands/s", "messages/s", "Mbit/s",
            "cores of the engine", "memory, MiB"]
    fleets = [
        [f"{each['machines']:,}", f"{each['names']:,}", f"{each['alone']:,}", f"{each['calls']:,}",
         f"{each['commands']:,}", f"{each['messages']:,}", f"{each['megabits']:,.1f}", f"{each['core']:.3f}",
         f"{each['mebioctets']:.0f}"]
        for each in result["fleets"]
    ]
    return tables.markdown(result) + "\n\n" + tables.table(head, fleets)
