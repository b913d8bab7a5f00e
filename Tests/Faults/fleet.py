# SPDX-License-Identifier: Apache-2.0
"""Faults of the Redis server of a fleet (*engine*): effects on clients, and the count of vendor calls."""
import argparse
import collections
import json
import os
import random
import re
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ENGINE, REDIS, VENDOR, FIRST = 6379, 6380, 8080, 5301
pause = threading.Event().wait
ADDRESS = bytes([192, 0, 2, 77])
SETTINGS = """
listen: ["127.0.0.1:{port}"]
control: {{socket: {here}/{name}.sock, mode: "0600"}}
vendors:
  v: {{kind: tencent, channel: aes, id: 12345, key: {{file: {here}/key}}, servers: ["127.0.0.1:{vendor}"]}}
routes: [{{domains: [example.com], vendors: [v], fallback: none}}]
upstreams: [{{name: none, url: "udp://127.0.0.1:1"}}]
fleet: {{servers: ["127.0.0.1:{engine}"], secret: {{file: {here}/secret}}, group: test, name: {name}}}
"""


class Proxy:
    """A proxy between the daemons and Redis that can delay octets or hold them back."""

    def __init__(self):
        self.delay, self.passes = 0.0, True
        self.listener = socket.create_server(("127.0.0.1", ENGINE), backlog=256)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", REDIS))
        except OSError:
            client.close()
            return
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self.copy, args=(client, server, False), daemon=True).start()
        self.copy(server, client, True)

    def copy(self, source, target, is_reply):
        try:
            while octets := source.recv(65536):
                if is_reply and self.delay:
                    pause(self.delay)
                # Holds the octets back; they arrive later, as after the end of a network partition.
                while not self.passes:
                    pause(0.01)
                target.sendall(octets)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Fleet:
    VALUES = r"httpdnsd:\S+:v"

    def __init__(self, programs, count, here, gap):
        self.gap = gap
        self.bin, self.count, self.here = programs, count, here
        self.children, self.daemons, self.round = [], {}, 0
        self.write("key", "1234567890123456\n")
        self.write("secret", secrets.token_urlsafe(48))
        self.write("zone", "*.example.com 300 A 192.0.2.77\n")
        self.start_vendor()
        self.start_redis()
        self.proxy = Proxy()
        for index in range(count):
            self.start_daemon(index)
        self.settle()

    def start_vendor(self):
        self.start([f"{self.bin}/httpdns-emulator", "--listen", f"127.0.0.1:{VENDOR}", "--zone",
                    f"{self.here}/zone", "--fault", "delay=20"], "emulator")

    def write(self, name, text):
        path = f"{self.here}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def start(self, command, log, **environment):
        with open(f"{self.here}/{log}.log", "ab") as file:
            child = subprocess.Popen(command, stdout=file, stderr=file,
                                     env={**os.environ, **environment})
        self.children.append(child)
        return child

    def start_redis(self, *options):
        self.redis = self.start(["redis-server", "--port", str(REDIS), "--bind", "127.0.0.1",
                                 "--save", "", "--dir", self.here, *options], "redis")
        while "PONG" not in self.cli("ping"):
            pause(0.02)

    def start_daemon(self, index, **environment):
        name = f"m{index}"
        path = self.write(f"{name}.yaml", SETTINGS.format(
            port=FIRST + index, here=self.here, name=name, vendor=VENDOR, engine=ENGINE))
        os.makedirs(f"{self.here}/state{index}", exist_ok=True)
        self.daemons[index] = self.start([f"{self.bin}/httpdnsd", "--config", path], name,
                                         STATE_DIRECTORY=f"{self.here}/state{index}", **environment)

    def restart_daemons(self, indices, environment=lambda index: {}):
        for index in indices:
            self.daemons[index].terminate()
        for index in indices:
            self.daemons[index].wait()
            self.start_daemon(index, **environment(index))
        self.settle()

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-p", str(REDIS), *words], text=True,
                              capture_output=True, check=False).stdout

    def states(self):
        found = collections.Counter()
        for index in range(self.count):
            end = subprocess.run(
                [f"{self.bin}/httpdnsctl", "--socket", f"{self.here}/m{index}.sock", "--json",
                 "status"], text=True, capture_output=True, check=False)
            try:
                found[json.loads(end.stdout)["fleet"]["state"]] += 1
            except (ValueError, KeyError):
                found["starting"] += 1
        return found

    def settle(self):
        begin = time.monotonic()
        while self.states() != {"connected": self.count}:
            if time.monotonic() > begin + 30:
                raise RuntimeError(f"the fleet does not recover: {self.states()}")
            pause(0.05)
        return time.monotonic() - begin

    def calls(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{VENDOR}/_emulator/calls") as reply:
            return json.load(reply)["lookups"]

    def ask(self, names, during=None):
        self.round += 1
        connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sent, times, number = {}, [], 0
        codes, wrong = collections.Counter(), 0

        def receive(limit):
            nonlocal wrong
            while sent and time.monotonic() < limit:
                left = max(0, limit - time.monotonic())
                if not select.select([connection], [], [], left)[0]:
                    break
                message = connection.recv(4096)
                begin = sent.pop(struct.unpack(">H", message[:2])[0])
                times.append(1000 * (time.monotonic() - begin))
                codes[message[3] & 15] += 1
                wrong += message[3] & 15 == 0 and not message.endswith(ADDRESS)

        for index in range(names):
            if during and index == names // 4:
                receive(time.monotonic() + 6)
                during()
            host = b"n%dr%d" % (index, self.round)
            for machine in range(self.count):
                number += 1
                question = b"".join(bytes([len(label)]) + label for label in (host, b"example", b"com"))
                sent[number] = time.monotonic()
                connection.sendto(struct.pack(">6H", number, 0x100, 1, 0, 0, 0) + question
                                  + b"\0\0\1\0\1", ("127.0.0.1", FIRST + machine))
            receive(time.monotonic() + (self.gap if index + 1 < names else 6))
        codes["lost"] = len(sent)
        return codes, wrong, sorted(times)

    def stop(self):
        for child in self.children:
            if child.poll() is None:
                child.send_signal(signal.SIGCONT)
                child.terminate()
        for child in self.children:
            child.wait()


class Unbound(Fleet):
    """A fleet of unbound with its module cachedb, in front of a DNS server that answers within 20 ms."""

    VALUES = r"[0-9A-F]{64}"

    def __init__(self, program, count, here, gap):
        self.program, self.queries = program, 0
        threading.Thread(target=self.answer, daemon=True).start()
        super().__init__("", count, here, gap)

    def answer(self):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", VENDOR))
        waiting = collections.deque()
        while True:
            left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
            if select.select([server], [], [], left)[0]:
                query, client = server.recvfrom(4096)
                end = query.index(0, 12) + 5
                reply = (query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + query[12:end]
                         + b"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4" + ADDRESS)
                waiting.append((time.monotonic() + 0.02, reply, client))
                self.queries += 1
            while waiting and waiting[0][0] <= time.monotonic():
                server.sendto(*waiting.popleft()[1:])

    def start_vendor(self):
        pass

    def start_daemon(self, index, **environment):
        path = self.write(f"u{index}.conf", f"""
server:
  directory: ""
  chroot: ""
  username: ""
  pidfile: ""
  interface: 127.0.0.1
  port: {FIRST + index}
  do-not-query-localhost: no
  num-threads: 1
  module-config: "cachedb iterator"
cachedb:
  backend: redis
  redis-server-host: 127.0.0.1
  redis-server-port: {ENGINE}
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@{VENDOR}
""")
        self.daemons[index] = self.start([self.program, "-d", "-p", "-c", path], f"u{index}",
                                         **environment)

    def states(self):
        return collections.Counter({"–": self.count})

    def settle(self):
        """Waits until all daemons answer; unbound does not report if it uses the engine."""
        begin = time.monotonic()
        for index in range(self.count):
            connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            connection.settimeout(0.5)
            while time.monotonic() < begin + 30:
                try:
                    connection.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0\5ready\0\0\1\0\1",
                                      ("127.0.0.1", FIRST + index))
                    connection.recv(512)
                    break
                except OSError:
                    pause(0.02)
        return time.monotonic() - begin

    def calls(self):
        return self.queries


def poison(fleet):
    values = re.findall(fleet.VALUES, fleet.cli("keys", "*"))
    for index, key in enumerate(values):
        fleet.cli("set", key, ["x" * 5000, "", "\x01" + secrets.token_hex(60), "\x02"][index % 4])
    for index in range(40):
        fleet.cli("publish", "httpdnsd:messages",
                  ["x" * 60_000, "", "\x01" + secrets.token_hex(60), "\x02zz"][index % 4])


def restart_redis(fleet):
    fleet.redis.wait()
    fleet.start_redis()


def set_clocks(fleet):
    library = f"{fleet.here}/clocks.so"
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clocks.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)

    def environment(index):
        path = f"{fleet.here}/clocks{index}"
        with open(path, "wb") as file:
            file.write(struct.pack("=3q", (-1) ** index * 3600 * 10**9, 0, 0))
        return {"LD_PRELOAD": library, "CLOCKS": path}

    fleet.restart_daemons([0, 1], environment)


def flood(fleet):
    fleet.flooder = fleet.start(["redis-benchmark", "-p", str(REDIS), "-c", "4", "-P", "32", "-q",
                                 "-n", "100000000", "publish", "httpdnsd:messages", "x"], "flood")


def end_flood(fleet):
    fleet.flooder.terminate()
    fleet.flooder.wait()


FAULTS = [
    ("stopped (SIGSTOP)", lambda f: f.redis.send_signal(signal.SIGSTOP),
     lambda f: f.redis.send_signal(signal.SIGCONT)),
    ("killed", lambda f: f.redis.kill(), restart_redis),
    ("slow by 200 ms", lambda f: setattr(f.proxy, "delay", 0.2),
     lambda f: setattr(f.proxy, "delay", 0.0)),
    ("partitioned", lambda f: setattr(f.proxy, "passes", False),
     lambda f: setattr(f.proxy, "passes", True)),
    ("full", lambda f: f.cli("config", "set", "maxmemory", "1"),
     lambda f: f.cli("config", "set", "maxmemory", "0")),
    ("read-only", lambda f: f.cli("replicaof", "127.0.0.1", "1"),
     lambda f: f.cli("replicaof", "no", "one")),
    ("wrong password", lambda f: (f.cli("config", "set", "requirepass", "other"),
                                  f.cli("-a", "other", "client", "kill", "type", "normal")),
     lambda f: f.cli("-a", "other", "config", "set", "requirepass", "")),
    ("poisoned", poison, lambda f: None),
    ("flushed", lambda f: f.cli("flushall"), lambda f: None),
    ("flooded by another client", flood, end_flood),
    ("two clocks an hour off", set_clocks, lambda f: f.restart_daemons([0, 1])),
    ("all daemons restarted", lambda f: f.restart_daemons(range(f.count)), lambda f: None),
]


def run(fleet, names):
    codes, wrong, normal = fleet.ask(names)
    for name, begin, end in FAULTS:
        before = fleet.calls()
        codes, wrong, times = fleet.ask(names, during=lambda: begin(fleet))
        calls = fleet.calls() - before
        states = fleet.states()
        end(fleet)
        recovery = fleet.settle()
        after = fleet.calls()
        fleet.ask(names)
        row = {
            "fault": name, "codes": codes, "wrong": wrong, "calls": calls,
            "p99": times[int(len(times) * 0.99) - 1], "max": times[-1], "states": states,
            "recovery": recovery, "after": fleet.calls() - after, "normal": normal[-1],
        }
        row["broken"] = [text for text, is_broken in [
            ("SERVFAIL or no answer", sum(codes.values()) != codes[0]),
            ("a wrong answer", wrong > 0),
            ("more calls than the machines alone", calls > names * fleet.count),
            ("no recovery within 5 s", recovery > 5),
            ("more than 60 ms more", times[int(len(times) * 0.99) - 1] > normal[-1] + 60),
        ] if is_broken]
        yield row


def replay(fleet, queries, names, rate):
    chance = random.Random(1)
    weights = [1 / rank for rank in range(1, names + 1)]
    asked = chance.choices(range(names), weights, k=queries)
    machines = [chance.randrange(fleet.count) for _ in asked]
    print("| machines | queries | names | not answered | calls | median, ms | p99, ms |\n"
          "|---|---|---|---|---|---|---|")
    calls, lost = [], 0
    for count in (1, fleet.count):
        begin = fleet.calls()
        codes, times = send_all(asked, [machine % count for machine in machines], b"%d" % count,
                                rate)
        calls.append(fleet.calls() - begin)
        missing = queries - codes[0]
        lost += missing
        print(f"| {count} | {queries:,} | {len(set(asked)):,} | {missing} | {calls[-1]:,} | "
              f"{times[len(times) // 2]:.2f} | {times[int(len(times) * 0.99)]:.1f} |", flush=True)
    return [text for text, is_broken in [
        ("replay: a query has no answer", lost > 0),
        ("replay: more than 1.05 of one machine's calls", calls[1] > 1.05 * calls[0]),
    ] if is_broken]


def send_all(names, machines, label, rate):
    sent, times, codes = {}, [], collections.Counter()
    connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def receive(limit):
        while sent and select.select([connection], [], [], max(0, limit - time.monotonic()))[0]:
            message = connection.recv(4096)
            begin = sent.pop(struct.unpack(">H", message[:2])[0])
            times.append(1000 * (time.monotonic() - begin))
            codes[message[3] & 15] += 1

    start = time.monotonic()
    for number, (name, machine) in enumerate(zip(names, machines)):
        host = b"n%dm%b" % (name, label)
        question = bytes([len(host)]) + host + b"\x07example\x03com\0\0\1\0\1"
        sent[number & 0xFFFF] = time.monotonic()
        connection.sendto(struct.pack(">6H", number & 0xFFFF, 0x100, 1, 0, 0, 0) + question,
                          ("127.0.0.1", FIRST + machine))
        receive(start + (number + 1) / rate)
    receive(time.monotonic() + 6)
    return codes, sorted(times)


def main(root):
    made = argparse.ArgumentParser(
        prog="scripts/fleet-faults",
        description="Runs daemons that share answers in a network namespace, lets their Redis "
        "server fail, and prints what clients saw as a table in Markdown; needs root.")
    made.add_argument("--bin", default=f"{root}/.build/release", help="directory of the programs")
    made.add_argument("--machines", type=int, default=5, help="daemons (default 5)")
    made.add_argument("--names", type=int, default=100, help="new names in each step (default 100)")
    made.add_argument("--gap", type=float, default=0.02,
                      help="seconds between two names (default 0.02)")
    made.add_argument("--unbound", metavar="PROGRAM",
                      help="run this unbound with its module cachedb instead")
    made.add_argument("--replay", type=int, default=0, metavar="QUERIES",
                      help="only replay this number of queries, for names with a Zipf distribution")
    made.add_argument("--rate", type=int, default=500,
                      help="queries per second of --replay (default 500)")
    options = made.parse_args()
    if os.environ.get("FLEET_FAULTS") != "inside":
        os.environ["FLEET_FAULTS"] = "inside"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="httpdnsd-fleet-") as here:
        if options.unbound:
            fleet = Unbound(options.unbound, options.machines, here, options.gap)
        else:
            fleet = Fleet(os.path.abspath(options.bin), options.machines, here, options.gap)
        broken = []
        try:
            if options.replay:
                print(f"{options.rate:,} queries a second, the vendor answers within 20 ms\n")
                broken = replay(fleet, options.replay, options.names, options.rate)
                return report(broken)
            print(f"{options.machines} machines, {options.names} new names each\n")
            print("| Redis | answers | not answered | calls | p99, ms | longest, ms | state | "
                  "recovery, s | calls after |\n|---|---|---|---|---|---|---|---|---|")
            for row in run(fleet, options.names):
                states = ", ".join(f"{count} {state}" for state, count in row["states"].items())
                lost = sum(row["codes"].values()) - row["codes"][0]
                print(f"| {row['fault']} | {row['codes'][0]} | {lost} | {row['calls']} | "
                      f"{row['p99']:.0f} | {row['max']:.0f} | {states} | {row['recovery']:.1f} | "
                      f"{row['after']} |", flush=True)
                broken += [f"{row['fault']}: {text}" for text in row["broken"]]
        finally:
            fleet.stop()
    return report(broken)


def report(broken):
    for sentence in broken:
        print(f"fleet-faults: {sentence}", file=sys.stderr)
    return 1 if broken else 0
