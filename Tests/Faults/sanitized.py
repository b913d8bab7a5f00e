# SPDX-License-Identifier: Apache-2.0
"""Runs the daemon under load with a sanitizer or valgrind.

Leaks of only one or two blocks belong to the daemon, which does not release its objects before it exits, and to
tables of weak references, which a leak check cannot reach.

A real leak occurs with each query, connection or reload, and so more than FEW times.
"""
import argparse
import contextlib
import glob
import itertools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request

import harness
import judging
import peers
import world
from program import wait
from programs import Failure

METRICS, TLS_PORT = 9353, 8853

# ROUNDS must be larger than FEW, so that a leak in each round is found.
FEW, ROUNDS = 16, 24

UNREACHABLE = 3

UNBOUND = """server:
  tls-port: 8853
  tls-service-pem: "{chain}"
  tls-service-key: "{key}"
"""

SETTINGS = """
listen: ["127.0.0.1:53"]
accelerate: {{loopback: {accelerate}}}
workers: 2
control: {{socket: {control}, mode: "0600"}}
metrics: {{listen: "127.0.0.1:9353"}}
log: {{level: {level}, queries: {queries}}}
vendors:
  plain: {{kind: tencent, channel: aes, id: 12345, key: {{file: {key}}}, auth-expiry: true,
          servers: [192.0.2.1, 192.0.2.2]}}
  secure: {{kind: tencent, channel: https, id: 12345, token: {{file: {token}}}, ca-file: {authority},
           servers: ["127.0.0.1:{port}"]}}
routes: [{{domains: [vendor.example], vendors: [{vendors}]}}]
upstreams: [{{name: upstream, {upstream}}}]
hosts: {{files: [/etc/hosts], records: {{printer.lan: [192.0.2.9]}}}}
answers: {{order: {order}}}
cache: {{size: 1MiB, snapshot: {snapshot}}}
"""

EDITIONS = [
    {"vendors": "plain, secure", "upstream": 'url: "udp://192.0.2.1"', "order": "as-received", "level": "info",
     "queries": "off", "accelerate": "off"},
    {"vendors": "secure, plain",
     "upstream": 'url: "tls://127.0.0.1", addresses: ["127.0.0.1:8853"], ca-file: {authority}',
     "order": "rotate", "level": "debug",
     "queries": "on", "accelerate": "off"},
]


class Watched(world.Server):
    def __init__(self, there, front, under, seconds_to_end):
        self.front, self.under, self.seconds_to_end = front, under, seconds_to_end
        super().__init__(there, "httpdnsd")

    def _httpdnsd(self):
        self.token = self.bench.write("token", "987654321\n", 0o600)
        self.file = os.path.join(self.state, "httpdnsd.yaml")
        self.edit(EDITIONS[0])
        return [*self.under, self.bench.product("httpdnsd"), "--config", self.file]

    def edit(self, edition):
        known = {"authority": self.front.authority, "port": self.front.port}
        self._write("httpdnsd.yaml", SETTINGS.format(
            control=self.control, key=self.world.key, token=self.token, snapshot=self.snapshot,
            **known, **{name: value.format(**known) for name, value in edition.items()},
        ))

    def end(self):
        process = self.program.process
        if process.poll() is None:
            process.terminate()
        try:
            status = process.wait(self.seconds_to_end)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failure(f"no end within {self.seconds_to_end} s: {self.program.text()}") from None
        if status != 0:
            raise Failure(f"ended with {status}: {self.program.text()}")


def main(root):
    """Returns 0 on success, 1 after a failed check, 2 if something could not be run."""
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--bin", required=True, help="directory of the programs")
    made.add_argument("--seconds", type=float, default=30, help="duration of one run of the daemon")
    made.add_argument("--rate", type=float, default=1000, help="queries per second")
    made.add_argument("--patience", type=float, default=1, help="factor for all time limits")
    made.add_argument("--reports", help="directory of the sanitizer's reports")
    made.add_argument("under", nargs="*", help="program that runs the daemon, with its arguments")
    options = made.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        world.enter()
        with harness.Bench(root, options) as bench:
            run(bench, options)
    except Failure as failure:
        print(f"sanitized: {failure}", file=sys.stderr)
        return 1
    return 0


def run(bench, options):
    storm = bench.path("storm")
    world.run("cc", "-O2", "-o", storm, os.path.join(bench.root, "Tests", "Faults", "storm.c"))
    there = world.World(bench)
    front = bench.nginx(
        f"location / {{ proxy_pass http://{world.FAR}:{world.VENDOR_PORT}; }}", "IP:127.0.0.1"
    )
    secure = peers.unbound_settings(
        bench.directory("unbound"), TLS_PORT, world.UPSTREAM_PORT, upstream_address=world.FAR
    )
    chain, key = (bench.path(f"site.{part}") for part in ("pem", "key"))
    bench.start(["unbound", "-d", "-c", bench.write(
        "unbound.conf", secure + UNBOUND.format(chain=chain, key=key)
    )], None)
    server = Watched(there, front, options.under, 30 * options.patience)
    life(bench, options, server, storm, True)
    there.well()
    server.fill()
    server.end()
    if os.path.getsize(server.snapshot) < 1 << 14:
        raise Failure("the snapshot does not hold what was in the cache")
    # Valgrind supports only a part of BPF, so acceleration is off under valgrind.
    server.edit(EDITIONS[0] | {"accelerate": "off" if options.under else "auto"})
    server.start()
    life(bench, options, server, storm, False)
    forget_few(options.reports)


def forget_few(reports):
    """Renames leak reports in which each place has only a few blocks, so that scripts/test ignores them."""
    for path in glob.glob(os.path.join(reports or "", "of.*")):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        others = re.findall(r"ERROR: (?!LeakSanitizer: detected memory leaks)", text)
        counts = [int(count) for count in re.findall(r"leak of \d+ byte\(s\) in (\d+) obj", text)]
        if counts and not others and max(counts) <= FEW:
            print(f"sanitized: {os.path.basename(path)}: {sum(counts)} blocks are left, at most "
                  f"{max(counts)} of a kind", file=sys.stderr)
            os.rename(path, os.path.join(reports, "kept." + path.rpartition(".")[2]))


def life(bench, options, server, storm, is_whole):
    file = bench.path("records")
    command = [storm, "-p", str(world.PORT), "-r", str(options.rate), "-s", str(options.seconds),
               "-n", str(world.HOT), "-b", str(world.BRIEF), "-o", file]
    turns = itertools.count()
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(client.kill)
        client.stdout.readline()
        until = time.monotonic() + options.seconds
        if not is_whole:
            streams(options)
            wait(until - options.seconds / 2)
            server.end()
            client.communicate()
            return
        watch = stack.enter_context(subprocess.Popen(
            [bench.product("httpdnsctl"), "--socket", server.control, "watch"],
            stdout=subprocess.DEVNULL,
        ))
        stack.callback(watch.kill)
        while (turn := next(turns)) < ROUNDS or time.monotonic() < until:
            streams(options)
            operate(bench, options, server, turn)
        client.communicate()
        if watch.poll() is not None:
            raise Failure(f"watch ended with {watch.returncode}")
    rows = judging.records(file)
    counts = [sum(row[3] == verdict for row in rows) for verdict in range(5)]
    told = dict(zip(("lost", "upstream", "vendor", "failed", "wrong"), counts))
    print(f"sanitized: {len(rows)} queries over UDP ({told}), {turn} rounds", file=sys.stderr)
    if told["wrong"] or not told["vendor"] or not told["upstream"]:
        raise Failure(f"{told}; {server.program.text()}")


def streams(options):
    names = [f"hot{number:07}.forward.example" for number in range(8)]
    names += [f"hot{number:07}.vendor.example" for number in range(8)]
    message = b"".join(
        struct.pack(">H", len(query)) + query for query in map(peers.question, names)
    )
    address = ("127.0.0.1", world.PORT)
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(socket.create_connection(address, 10 * options.patience))
                for _ in range(12)]
        for number, each in enumerate(made):
            each.settimeout(10 * options.patience)
            if number % 6 != 5:
                each.sendall(message)
            if number % 6 == 1:
                each.shutdown(socket.SHUT_WR)
            elif number % 6 == 2:
                reset(each)
            elif number % 6 == 3:
                each.sendall(b"\x00\x05" + b"\xff" * 5 + b"\x40\x00" + bytes(200))
                reset(each)
        for number, each in enumerate(made):
            if number % 6 < 2:
                for _ in names:
                    read_reply(each)


def reset(stream):
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("2i", 1, 0))
    stream.close()


def read_reply(stream):
    head = stream.recv(2, socket.MSG_WAITALL)
    if len(head) < 2:
        raise Failure("a connection ended before its last reply")
    length = struct.unpack(">H", head)[0]
    if len(stream.recv(length, socket.MSG_WAITALL)) < length:
        raise Failure("a connection ended within a reply")


def operate(bench, options, server, turn):
    def verb(*words, wanted=(0,)):
        return control(bench, options, server, *words, wanted=wanted)

    verb("status", wanted=(0, 4))
    verb("stats")
    verb("top", ["names", "misses", "slow", "cost", "fallback"][turn % 5])
    verb("explain", "hot0000001.vendor.example", *(["--live"] if turn % 2 else []))
    verb("resolve", "hot0000002.vendor.example", "hot0000002.forward.example", "printer.lan")
    verb("lookup", "hot0000003.forward.example", wanted=(0, 1))
    verb("dump")
    flushes = [
        ["--negative"], ["--tree", "vendor.example"], ["--all"], ["--stale"],
        ["--source", "upstream"], ["--all", "--soft"], ["hot0000004.vendor.example"],
    ]
    verb("flush", *flushes[turn % len(flushes)])
    verb("pause", "secure")
    verb("resume", "secure")
    server.edit(EDITIONS[(turn + 1) % 2])
    verb("check")
    if turn % 3 == 2:
        server.program.process.send_signal(signal.SIGHUP)
    else:
        verb("reload")
    if turn % 4 == 1:
        server.world.vendor(["silent", "garbage", "", "status=500"][turn // 4 % 4])
    elif turn % 4 == 3:
        server.world.well()
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        f"http://127.0.0.1:{METRICS}/metrics", timeout=10 * options.patience
    ) as reply:
        if not re.search(rb"(?m)^httpdnsd_queries_total", reply.read()):
            raise Failure("no counters in /metrics")


def control(bench, options, server, *words, wanted=(0, 4)):
    command = [bench.product("httpdnsctl"), "--socket", server.control, "--json", *words]
    for _ in range(int(options.patience)):
        done = subprocess.run(command, capture_output=True, text=True)
        # Under valgrind, the daemon may need more than httpdnsctl's timeout of 10 s.
        if done.returncode != UNREACHABLE:
            break
    if done.returncode not in wanted:
        raise Failure(f"httpdnsctl {' '.join(words)}: {done.returncode}: {done.stdout[-500:]}{done.stderr}")
    return json.loads(done.stdout) if words[0] == "stats" else done.stdout


if __name__ == "__main__":
    sys.exit(main(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
