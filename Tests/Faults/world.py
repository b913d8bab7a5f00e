# SPDX-License-Identifier: Apache-2.0
"""A machine with one cable, with the vendor and the upstream at the other end."""
import contextlib
import ctypes
import mmap
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.request

import harness
import peers
from programs import Failure, Program

MACHINE, OTHER_MACHINE, FAR, FAR_TOO = "192.0.2.10", "192.0.2.20", "192.0.2.1", "192.0.2.2"
VENDOR_PORT, UPSTREAM_PORT, PORT = 80, 53, 53

HOT, BRIEF, FRESH = 500, 100, 12000

# Seconds from the kill of a process to its restart; the systemd unit waits only 0.5 s (RestartSec=).
RESTART_SECONDS = 1

SETTINGS = """
listen: ["127.0.0.1:53"]
control: {{socket: {control}, mode: "0600"}}
vendors:
  vendor: {{kind: tencent, channel: aes, id: 12345, key: {{file: {key}}}, auth-expiry: true,
           servers: [192.0.2.1, 192.0.2.2]}}
routes: [{{domains: [vendor.example], vendors: [vendor]}}]
upstreams: [{upstream}]
hosts: {{files: []}}
cache: {{size: 16MiB, snapshot: {snapshot}}}
"""

SECURE_NAME = "upstream.example"
UPSTREAMS = {
    "udp": '{{name: upstream, url: "udp://192.0.2.1"}}',
    "tcp": '{{name: upstream, url: "tcp://192.0.2.1:54"}}',
    "tls": '{{name: upstream, url: "tls://' + SECURE_NAME + '", addresses: [192.0.2.1], '
           'ca-file: {authority}}}',
}
DNSDIST = """
setLocal('192.0.2.1:54', {{tcpListenQueueSize=1024, maxInFlight=1000}})
addTLSLocal('192.0.2.1:853', '{chain}', '{key}', {{maxInFlight=1000}})
setACL('192.0.2.0/24')
setSecurityPollSuffix('')
newServer({{address='192.0.2.1:53', healthCheckMode='up'}})
"""

# Settings with which unbound serves stale answers: its most robust settings.
UNBOUND = """server:
  serve-expired: yes
  serve-expired-client-timeout: 300
  serve-expired-reply-ttl: 30
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def enter():
    if os.environ.get("FAULTS_INSIDE") == str(os.getppid()):
        return
    if os.getuid() != 0:
        raise Failure("networks of one's own need root")
    flags = ["unshare", "--mount", "--net", "--propagation", "private"]
    os.environ["FAULTS_INSIDE"] = str(os.getpid())
    done = subprocess.run([*flags, "--", sys.executable, "-B", *sys.argv])
    sys.exit(done.returncode)


def cable(bench):
    keeper = bench.start(
        ["unshare", "--net", "sh", "-c", "ip link set lo up; echo ready; exec sleep infinity"],
        "ready",
    )
    far = ["nsenter", f"--net=/proc/{keeper.process.pid}/ns/net", "--"]
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable",
        "netns", str(keeper.process.pid))
    for address in (FAR, FAR_TOO):
        run(*far, "ip", "address", "add", f"{address}/24", "dev", "cable")
    run(*far, "ip", "link", "set", "cable", "up")
    run("ip", "address", "add", f"{MACHINE}/24", "dev", "cable")
    run("ip", "link", "set", "cable", "up")
    return far


def zone():
    lines = []
    for word, count, base, ttl in [
        ("hot", HOT, 0, 86400), ("brief", BRIEF, 4096, 10), ("new", FRESH, 8192, 60)
    ]:
        for number in range(count):
            place = base + number
            address = f"11.18.{place >> 8}.{place & 255}"
            lines.append(f"{word}{number:07}.vendor.example {ttl} A {address}\n")
    return "".join(lines)


class World:
    def __init__(self, bench, extra_zone=""):
        self.bench = bench
        self.far = cable(bench)
        upstream = os.path.join(bench.root, "Tests", "Faults", "upstream.py")
        self.upstream_program = self._steered(
            [*self.far, "python3", "-B", upstream, FAR, str(UPSTREAM_PORT)]
        )
        file = bench.write("names.zone", zone() + extra_zone)
        bench.start(
            [*self.far, bench.product("httpdns-emulator"), "--listen", f"0.0.0.0:{VENDOR_PORT}",
             "--zone", file],
            "listening on ",
        )
        self.key = bench.write("key", "1234567890123456\n", 0o600)
        self.authority = self.dnsdist = self.front = None

    def _steered(self, command):
        program = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.bench.stack.callback(program.wait)
        self.bench.stack.callback(program.terminate)
        if program.stdout.readline() != "listening\n":
            raise Failure("the upstream did not start")
        return program

    def upstream_settings(self, scheme):
        if scheme != "udp" and not self.dnsdist:
            self.authority, chain, key = self.bench.certificates(f"DNS:{SECURE_NAME}")
            self.dnsdist = self.bench.write("dnsdist.conf", DNSDIST.format(chain=chain, key=key))
            self.start_front()
        return UPSTREAMS[scheme].format(authority=self.authority)

    def start_front(self):
        command = [*self.far, "dnsdist", "--supervised", "--disable-syslog", "-C", self.dnsdist]
        self.front = self.bench.start(command, "Listening on 192.0.2.1:853")

    def signal_front(self, number):
        os.kill(self.front.process.pid, number)

    def upstream(self, fault):
        """Returns when the fault is in effect."""
        self.upstream_program.stdin.write(fault + "\n")
        if self.upstream_program.stdout.readline() != f"is {fault}\n":
            raise Failure(f"the upstream cannot be {fault}")

    def vendor(self, fault):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        address = f"http://{FAR}:{VENDOR_PORT}/_emulator/faults"
        with opener.open(address, data=fault.encode(), timeout=10) as reply:
            reply.read()

    def well(self):
        self.vendor("")
        self.upstream("well")


class Server:
    """A server on port 53 of the machine's loopback, which can be restarted."""

    def __init__(self, world, title, preload=False, holds=False, scheme="udp"):
        self.world, self.bench, self.title = world, world.bench, title
        self.upstream = world.upstream_settings(scheme)
        self.state = self.bench.directory(title)
        self.clocks = Clocks(self.bench, self.state) if preload else None
        self.control = os.path.join(self.state, "control.sock")
        self.disk = os.path.join(self.state, "disk")
        self.snapshot = os.path.join(self.disk, "cache.snapshot")
        os.mkdir(self.disk)
        self.sockets = held_sockets() if holds else []
        self.command, self.program = getattr(self, f"_{title}")(), None
        self.start()

    def _httpdnsd(self):
        file = self._write("httpdnsd.yaml", SETTINGS.format(
            control=self.control, key=self.world.key, snapshot=self.snapshot,
            upstream=self.upstream,
        ))
        return [self.bench.product("httpdnsd"), "--config", file]

    def _unbound(self):
        text = peers.unbound_settings(self.state, PORT, UPSTREAM_PORT, upstream_address=FAR)
        file = self._write("unbound.conf", text + UNBOUND)
        return ["unbound", "-d", "-c", file]

    def _dnsmasq(self):
        command = peers.dnsmasq_command(PORT, UPSTREAM_PORT, 100_000, upstream_address=FAR)
        return [*command, "--use-stale-cache"]

    def _write(self, name, text):
        path = os.path.join(self.state, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self):
        environment = dict(self.clocks.environment) if self.clocks else {}
        if self.sockets:
            numbers = [each.fileno() for each in self.sockets]
            redirections = " ".join(f"{3 + index}<&{each}" for index, each in enumerate(numbers))
            script = f'exec {redirections}; LISTEN_PID=$$ exec "$0" "$@"'
            environment |= {"LISTEN_FDS": str(len(numbers)), "LISTEN_FDNAMES": "dns:dns"}
            command = ["bash", "-c", script, *self.command]
            self.program = Program(command, "answering on ", environment=environment,
                                   descriptors=numbers)
        elif self.title == "httpdnsd":
            self.program = Program(self.command, "answering on ", environment=environment)
        else:
            self.program = Program(self.command, None, environment=environment)
            self._wait()
        self.bench.stack.callback(self.program.stop)
        return time.monotonic()

    def _wait(self):
        until = time.monotonic() + 10
        with client() as asking:
            asking.settimeout(0.02)
            while time.monotonic() < until:
                with contextlib.suppress(ConnectionError, TimeoutError):
                    asking.send(peers.question("hot0000000.forward.example"))
                    asking.recv(4096)
                    return
                if self.program.process.poll() is not None:
                    break
        raise Failure(f"{self.title} does not answer: {self.program.text()[-1000:]}")

    @property
    def pid(self):
        return self.program.process.pid

    def kill(self):
        self.program.process.kill()
        self.program.process.wait()

    def end(self):
        self.program.stop()
        for each in self.sockets:
            each.close()

    def fill(self):
        names = [
            f"{word}{number:07}.{zone}.example"
            for word, count in (("hot", HOT), ("brief", BRIEF)) for number in range(count)
            for zone in ("vendor", "forward")
        ]
        with client() as asking:
            asking.settimeout(1)
            for attempt in range(5):
                missing = []
                for first in range(0, len(names), 32):
                    missing += ask(asking, names[first:first + 32])
                names = missing
                if not names:
                    return
        raise Failure(f"{self.title} does not answer {len(names)} names such as {names[0]}")

    def stats(self):
        if self.title != "httpdnsd":
            return None
        return self.bench.control(self, "stats")


def client():
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.connect(("127.0.0.1", PORT))
    return made


def ask(asking, names):
    questions = {}
    for number, name in enumerate(names):
        query = peers.question(name)
        identity = struct.pack(">H", number)
        questions[identity] = name
        asking.send(identity + query[2:])
    with contextlib.suppress(TimeoutError):
        for _ in names:
            reply = asking.recv(4096)
            if reply[3] & 15 == 0 and reply[7]:
                questions.pop(reply[:2], None)
    return list(questions.values())


def held_sockets():
    """Returns a UDP and a TCP socket with the options of those that systemd's socket unit passes."""
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.setsockopt(socket.SOL_SOCKET, 33, 4 << 20)  # SO_RCVBUFFORCE
    datagrams.bind(("127.0.0.1", PORT))
    return [datagrams, socket.create_server(("127.0.0.1", PORT), backlog=1024)]


class Clocks:
    """The clocks of a program that was started with `environment`."""

    def __init__(self, bench, state):
        library = bench.path("clocks.so")
        if not os.path.exists(library):
            source = os.path.join(bench.root, "Tests", "Faults", "clocks.c")
            run("cc", "-O2", "-shared", "-fPIC", "-o", library, source)
        path = os.path.join(state, "clocks")
        with open(path, "wb") as file:
            file.write(bytes(24))
        with open(path, "r+b") as file:
            self.offsets = mmap.mmap(file.fileno(), 24)
        self.fifo = path + ".set"
        os.mkfifo(self.fifo)
        self.environment = {"LD_PRELOAD": library, "CLOCKS": path}

    def jump(self, wall=0, monotonic=0, boot=0):
        for index, seconds in enumerate((wall, monotonic, boot)):
            cell = ctypes.c_int64.from_buffer(self.offsets, 8 * index)
            cell.value += int(seconds * 1e9)
        with contextlib.suppress(OSError):
            descriptor = os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, b"!")
            os.close(descriptor)
