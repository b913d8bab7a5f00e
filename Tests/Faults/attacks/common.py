# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the attacks: a server under attack, its directory, and the command line.

An attack is a module of this directory with `TITLE`, `PROMISE`, `PEERS` and `run(programs, server)`,
which returns the figure as text and whether the promise holds. A *dead name* is a name that the upstream never
answers.
"""
import argparse
import asyncio
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

import dns.exception
import dns.message
import dns.name
import dns.query
import dns.rdatatype
import dns.rrset

READY_SECONDS = 10

# The daemon counts all of 127.0.0.0/8 as one client.
CLIENTS = ("10.99.0.2", "10.99.0.3", "10.99.0.4")

CLONE_NEWNET = 0x40000000
IP_PKTINFO = 8


class AttackError(Exception):
    """An attack could not be run."""


def isolate():
    """Moves this process to a network namespace with one device, a loopback with the addresses in CLIENTS."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise AttackError(f"unshare: {os.strerror(ctypes.get_errno())}: attacks need root")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in CLIENTS:
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)


def free_port():
    for _ in range(50):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.bind(("127.0.0.1", 0))
            port = datagrams.getsockname()[1]
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as streams:
                with contextlib.suppress(OSError):
                    streams.bind(("127.0.0.1", port))
                    return port
    raise AttackError("no port is free for UDP and TCP")


class Server:
    """A running server and its temporary directory; use it as a context manager.

    `settings` is the text of httpdnsd.yaml or unbound.conf. `{port}` and `{directory}` in it are replaced, other braces
    are kept.
    """

    def __init__(self, programs, server, settings, environment=None, prefix=()):
        self.programs, self.server, self.settings = programs, server, settings
        self.environment, self.prefix = environment, list(prefix)
        self.port = free_port()
        self.process = None

    def __enter__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="attack-")
        self.directory = self._directory.name
        self.control = os.path.join(self.directory, "control.sock")
        text = self.settings.replace("{port}", str(self.port))
        text = text.replace("{directory}", self.directory)
        self._prepare()
        file = os.path.join(self.directory, "settings")
        with open(file, "w", encoding="utf-8") as settings:
            settings.write(text)
        if self.server == "httpdnsd":
            command = [os.path.join(self.programs, "httpdnsd"), "--config", file]
        elif self.server == "unbound":
            command = ["unbound", "-d", "-p", "-c", file]
        else:
            raise AttackError(f"unknown server: {self.server}")
        self.log = os.path.join(self.directory, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self.prefix + command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "STATE_DIRECTORY": self.directory, **(self.environment or {})},
            )
        try:
            self._wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _prepare(self):
        """Writes the files that the settings name, before the server starts; subclasses add more."""

    def _wait(self):
        end = time.monotonic() + READY_SECONDS
        while True:
            if self.process.poll() is not None or time.monotonic() > end:
                raise AttackError(f"{self.server} did not start: {self.log_text()[-400:]}")
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            pause(0.05)

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._directory.cleanup()

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def is_alive(self):
        return self.process.poll() is None

    def resident_mebibytes(self, peak=False):
        key = "VmHWM:" if peak else "VmRSS:"
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(key)) / 1024

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, *verb):
        done = subprocess.run(
            [os.path.join(self.programs, "httpdnsctl"), "--socket", self.control, "--json", *verb],
            capture_output=True, text=True, check=False,
        )
        if not done.stdout.strip():
            raise AttackError(f"httpdnsctl {' '.join(verb)}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def certificate(directory):
    file, key = (os.path.join(directory, name) for name in ("certificate.pem", "key.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=dns.example", "-addext", "subjectAltName=DNS:dns.example",
         "-keyout", key, "-out", file],
        check=True, capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    return file, context


class EncryptedUpstream:
    """A resolver over TLS that answers every name with an address.

    The resolver never answers names below dead.example. While `is_silent` is set, it answers no name. Use it as a context
    manager.
    """

    def __init__(self, directory):
        self.certificate, self._context = certificate(directory)
        self.is_silent = False

    def __enter__(self):
        self._sockets = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        for each in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                each.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError, dns.exception.DNSException):
            with self._context.wrap_socket(client, server_side=True) as stream:
                frames = stream.makefile("rb")
                while head := frames.read(2):
                    query = frames.read(int.from_bytes(head, "big"))
                    reply = None if self.is_silent else self.reply(query)
                    if reply:
                        stream.sendall(framed(reply))

    def reply(self, query):
        return address_reply(query)


class PlainUpstream:
    """A resolver over UDP that answers every name with an address, and records the names in `names`."""

    def __enter__(self):
        self.names = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                query, client = self._socket.recvfrom(4096)
                with contextlib.suppress(dns.exception.DNSException):
                    name = dns.message.from_wire(query).question[0].name
                    self.names.append(name.to_text(True).lower())
                    reply = address_reply(query)
                    if reply:
                        self._socket.sendto(reply, client)


def address_reply(query):
    message = dns.message.from_wire(query)
    question = message.question[0]
    if question.name.is_subdomain(dns.name.from_text("dead.example.")):
        return None
    reply = dns.message.make_response(message, recursion_available=True)
    if question.rdtype == dns.rdatatype.A:
        reply.answer.append(dns.rrset.from_text(question.name, 60, "IN", "A", "192.0.2.1"))
    return reply.to_wire()


def ask_udp(port, name, seconds=5):
    query = dns.message.make_query(name, "A")
    try:
        return dns.query.udp(query, "127.0.0.1", seconds, port).rcode()
    except dns.exception.Timeout:
        return None


def main(module):
    """Runs one attack as a program: `--bin DIR [--server NAME]`; exits with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=module["__doc__"])
    parser.add_argument("--bin", default=".build/debug", help="directory of the programs")
    parser.add_argument("--server", default="httpdnsd", choices=("httpdnsd", *module["PEERS"]))
    options = parser.parse_args()
    try:
        isolate()
        figure, holds = module["run"](os.path.abspath(options.bin), options.server)
    except AttackError as error:
        print(f"attack: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"{module['TITLE']} | {options.server} | {figure} | {'holds' if holds else 'BROKEN'}: "
          f"{module['PROMISE']}")
    sys.exit(0 if holds else 1)


def pause(seconds):
    select.select([], [], [], seconds)


def query(name, ident=0, qtype=1):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label)
    header = struct.pack(">HHHHHH", ident, 0x0100, 1, 0, 0, 0)
    return header + labels + b"\0" + struct.pack(">HH", qtype, 1)


def framed(message):
    return struct.pack(">H", len(message)) + message


def replies(stream):
    octets = b""
    while True:
        while len(octets) >= 2 and len(octets) >= 2 + int.from_bytes(octets[:2], "big"):
            end = 2 + int.from_bytes(octets[:2], "big")
            yield octets[2:end]
            octets = octets[end:]
        more = stream.recv(65535)
        if not more:
            return
        octets += more


def first_label(message):
    return message[13:13 + message[12]].decode("ascii", "replace").lower()


def question_end(message):
    place = 12
    while message[place]:
        place += message[place] + 1
    return place + 5


def answer(message, records, is_truncated=False, ttl=60):
    end = question_end(message)
    flags = 0x8380 if is_truncated else 0x8180
    header = message[:2] + struct.pack(">HHHHH", flags, 1, records, 0, 0)
    body = b"".join(
        struct.pack(">HHHLHBBH", 0xC00C, 1, 1, ttl, 4, 198, 18, number) for number in range(records)
    )
    return header + message[12:end] + body


@contextlib.contextmanager
def upstream(rule, context=None):
    """Runs an upstream over UDP and TCP (with a TLS context: UDP and TLS) in its own process; yields its port.

    `rule` maps the first label of a question to (delay in seconds, number of A records), or to None for no reply.
    Health probes query the root: their first label is empty, and the reply to them has no records.
    """
    port = free_port()
    with attacking(lambda: asyncio.run(_serve(port, rule, context))):
        yield port


async def _serve(port, rule, context):
    loop = asyncio.get_running_loop()

    def serve(message, send, limit):
        verdict = rule(first_label(message))
        if verdict is None:
            return
        delay, records = verdict if message[12] else (0, 0)
        is_cut = records > limit
        reply = answer(message, 0 if is_cut else records, is_cut)
        if is_cut or delay == 0:
            send(reply)
        else:
            loop.call_later(delay, send, reply)

    class Datagrams(asyncio.DatagramProtocol):
        def connection_made(self, transport):
            self.transport = transport

        def datagram_received(self, data, addr):
            serve(data, lambda reply: self.transport.sendto(reply, addr), 25)

    async def stream(reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                count = int.from_bytes(await reader.readexactly(2), "big")
                message = await reader.readexactly(count)
                serve(message, lambda reply: writer.write(framed(reply)), 4095)

    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # 33 is SO_RCVBUFFORCE; this upstream must not lose bursts.
    udp.setsockopt(socket.SOL_SOCKET, 33 if os.geteuid() == 0 else socket.SO_RCVBUF, 16 << 20)
    udp.bind(("127.0.0.1", port))
    await loop.create_datagram_endpoint(Datagrams, sock=udp)
    server = await asyncio.start_server(stream, "127.0.0.1", port, ssl=context)
    await server.serve_forever()


def forwarding(server, upstream):
    if server == "httpdnsd":
        if isinstance(upstream, int):
            upstream = f'{{name: upstream, url: "udp://127.0.0.1:{upstream}"}}'
        return f"""
listen: ["127.0.0.1:{{port}}"]
control: {{socket: {{directory}}/control.sock, mode: "0600"}}
hosts: {{files: []}}
cache: {{snapshot: "off"}}
accelerate: {{loopback: "off"}}
rate-limit: "off"
allow: [127.0.0.0/8, 10.99.0.0/24]
upstreams:
  - {upstream}
"""
    return f"""
server:
  interface: 127.0.0.1
  port: {{port}}
  do-daemonize: no
  username: ""
  chroot: ""
  directory: {{directory}}
  pidfile: {{directory}}/pid
  use-syslog: no
  do-not-query-localhost: no
  access-control: 127.0.0.0/8 allow
  access-control: 10.99.0.0/24 allow
  module-config: "iterator"
  incoming-num-tcp: 256
  num-queries-per-thread: 4096
  outgoing-range: 8192
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@{upstream}
remote-control:
  control-enable: no
"""


def connect(port, source):
    return socket.create_connection(("127.0.0.1", port), 5, source_address=(source, 0))


def victim(port, source, names, seconds, within=2):
    """Sends queries for `names` over UDP, evenly distributed over `seconds`; returns the number of unanswered names.

    An answer is NOERROR with an address, `within` seconds after the query.
    """
    asked = {}
    failed = set(range(len(names)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((source, 0))
        client.connect(("127.0.0.1", port))
        begin = time.monotonic()
        number = 0
        while time.monotonic() < begin + seconds + within and failed:
            now = time.monotonic()
            while number < len(names) and now >= begin + seconds * number / len(names):
                with contextlib.suppress(OSError):
                    client.send(query(names[number], number))
                asked[number] = now
                number += 1
            client.settimeout(0.005)
            with contextlib.suppress(OSError):
                reply = client.recv(4096)
                ident = int.from_bytes(reply[:2], "big")
                if reply[3] & 15 == 0 and int.from_bytes(reply[6:8], "big") > 0:
                    if time.monotonic() <= asked.get(ident, 0) + within:
                        failed.discard(ident)
    return len(failed)


def send_names(port, pattern, rate, sources, target="127.0.0.1"):
    """`pattern` contains `{}` in the place of a number."""
    # struct in_pktinfo: the address in its second field becomes the source (ip(7)).
    sources = [struct.pack("=i4s4x", 0, socket.inet_aton(source)) for source in sources]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        begin, number = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - begin) * rate)
            # After a time without the processor, the sender skips queries instead of sending them in one burst.
            number = max(number, due - 2000)
            while number < due:
                source = (socket.IPPROTO_IP, IP_PKTINFO, sources[number % len(sources)])
                with contextlib.suppress(OSError):
                    client.sendmsg([query(pattern.format(number), number & 0xFFFF)], [source], 0, (target, port))
                number += 1
            pause(0.002)


@contextlib.contextmanager
def attacking(work):
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
