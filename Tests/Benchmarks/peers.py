# SPDX-License-Identifier: Apache-2.0
"""Servers for comparison with the daemon, and their authority."""
import random
import struct

import harness
import measuring

# Zone of the authority. No names exist below none.example. Names below hits.example have only A, AAAA, TXT and MX.
ZONE = """$ORIGIN example.
$TTL 86400
@ SOA ns.example. host.example. 1 3600 600 864000 86400
@ NS ns
ns A 127.0.0.1
none TXT "nothing below"
*.hits A 192.0.2.1
*.hits AAAA 2001:db8::1
*.hits TXT "a text as names have it"
*.hits MX 10 mail.example.
*.miss A 192.0.2.1
"""

TYPES = {"A": 1, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33}

ALL = ["httpdnsd", "floor", "unbound", "dnsdist", "dnsmasq", "smartdns"]

# Cache size in octets; for servers that limit the number of answers, cache size in answers.
ROOM, ANSWERS = 256 << 20, 2_500_000


def question(name, kind="A"):
    labels = b"".join(bytes([len(label)]) + label for label in name.encode().split(b"."))
    head = struct.pack(">6H", random.getrandbits(16), 0x0100, 1, 0, 0, 0)
    return head + labels + struct.pack(">BHH", 0, TYPES[kind], 1)


READY = "ready.hits.example"


def add_options(parser, servers=None):
    known = servers or ALL
    parser.add_argument(
        "--servers",
        default=",".join(known),
        metavar="NAME,...",
        help=f"DNS servers to measure (default {','.join(known)})",
    )


class Peers:
    def __init__(self, bench, options, servers=None):
        self.bench = bench
        self.cpu, self.peer_cpu = measuring.processors(options)
        self.authority = self.nsd(self.peer_cpu)
        names = servers if servers is not None else chosen(options)
        self.servers = {name: self.start(name) for name in names}

    def start(self, name, cpu=None, **more):
        if name not in [*ALL, "accelerated"]:
            raise harness.Failure(f"there is no server {name}, only {', '.join(ALL)}")
        return getattr(self, name)(cpu or self.cpu, **more)

    def client(self, server, *words):
        return [self.bench.tool("load"), "-p", str(server.port), *map(str, words)]

    def fill(self, server, names, *words):
        for _ in range(6):
            figure = self.bench.run(
                self.client(server, "-1", "-n", names, "-s", 600, "-c", 4, "-w", 100, *words),
                self.peer_cpu,
                within=700,
            )
            if figure["lost"] == 0 and figure["wrong"] == 0:
                return figure
        raise harness.Failure(f"a server does not answer all of {names} names: {figure}")

    def directory(self, name):
        return self.bench.directory(name), harness.free_port()

    def nsd(self, cpu=None):
        return nsd(self.bench, cpu)

    def httpdnsd(self, cpu, workers=1, size=ROOM, more=""):
        return self.bench.daemon(daemon_settings(self.authority.port, workers, size, more), cpu)

    def accelerated(self, cpu):
        settings = daemon_settings(self.authority.port)
        return self.bench.daemon(settings, cpu, accelerate="required")

    def floor(self, cpu, transport="udp", workers=1):
        words = [str(workers)] if workers > 1 else []
        program = self.bench.start(
            [self.bench.tool("floor"), transport, "0", *words], "answering on ", cpu
        )
        program.port = int(program.said.rsplit(":", 1)[1])
        return program

    def unbound(self, cpu, workers=1):
        state, port = self.directory("unbound")
        file = self.bench.write(
            f"{state}/unbound.conf", unbound_settings(state, port, self.authority.port, workers)
        )
        return self.bench.serve(["unbound", "-d", "-c", file], port, question(READY), cpu)

    def dnsdist(self, cpu, upstream=None):
        state, port = self.directory("dnsdist")
        file = self.bench.write(
            f"{state}/dnsdist.lua",
            dnsdist_settings(port, upstream or f"{{address='127.0.0.1:{self.authority.port}',"
                             "checkInterval=10,sockets=4}"),
        )
        command = ["dnsdist", "--supervised", "--disable-syslog", "-C", file]
        return self.bench.serve(command, port, question(READY), cpu)

    def dnsmasq(self, cpu, answers=ANSWERS):
        """Starts dnsmasq, which allocates its whole cache at the start."""
        _, port = self.directory("dnsmasq")
        command = dnsmasq_command(port, self.authority.port, answers)
        return self.bench.serve(command, port, question(READY), cpu)

    def smartdns(self, cpu, upstream=None):
        state, port = self.directory("smartdns")
        file = self.bench.write(
            f"{state}/smartdns.conf",
            smartdns_settings(state, port, upstream or f"server 127.0.0.1:{self.authority.port}"),
        )
        command = ["smartdns", "-f", "-c", file, "-p", f"{state}/pid"]
        return self.bench.serve(command, port, question(READY), cpu)


def nsd(bench, cpu=None):
    state, port = bench.directory("nsd"), harness.free_port()
    bench.write(f"{state}/zone", ZONE)
    file = bench.write(f"{state}/nsd.conf", f"""
server:
  ip-address: 127.0.0.1@{port}
  username: ""
  zonesdir: "{state}"
  database: ""
  pidfile: ""
  xfrdfile: "{state}/xfrd"
  zonelistfile: "{state}/zones"
  xfrdir: "{state}"
  server-count: 1
  rrl-ratelimit: 0
remote-control:
  control-enable: no
zone:
  name: example
  zonefile: zone
""")
    return bench.serve(["nsd", "-d", "-c", file], port, question(READY), cpu)


def chosen(options):
    return [name for name in options.servers.split(",") if name]


def daemon_settings(upstream, workers=1, size=ROOM, more=""):
    return f"""
workers: {workers}
upstreams: [{{name: authority, url: "udp://127.0.0.1:{upstream}"}}]
hosts: {{files: []}}
cache: {{size: {size >> 20}MiB, snapshot: off}}
{more}
"""


def unbound_settings(state, port, upstream, workers=1, upstream_address="127.0.0.1"):
    return f"""
server:
  directory: "{state}"
  username: ""
  chroot: ""
  pidfile: ""
  use-syslog: no
  verbosity: 0
  interface: 127.0.0.1@{port}
  access-control: 127.0.0.0/8 allow
  num-threads: {workers}
  so-reuseport: yes
  so-rcvbuf: 4m
  so-sndbuf: 4m
  incoming-num-tcp: 1000
  outgoing-range: 8192
  num-queries-per-thread: 4096
  msg-cache-size: 512m
  rrset-cache-size: 512m
  msg-cache-slabs: {workers}
  rrset-cache-slabs: {workers}
  infra-cache-slabs: {workers}
  key-cache-slabs: {workers}
  module-config: "iterator"
  do-not-query-localhost: no
  do-ip6: no
forward-zone:
  name: "."
  forward-addr: {upstream_address}@{upstream}
remote-control:
  control-enable: no
"""


def dnsdist_settings(port, upstream, answers=ANSWERS):
    return f"""
setLocal('127.0.0.1:{port}', {{reusePort=true}})
setACL('127.0.0.0/8')
setSecurityPollSuffix('')
newServer({upstream})
cache = newPacketCache({answers}, {{maxTTL=86400, minTTL=0, numberOfShards=20}})
getPool(''):setCache(cache)
"""


def dnsmasq_command(port, upstream, answers=ANSWERS, upstream_address="127.0.0.1"):
    return [
        "dnsmasq", "-k", "-p", str(port), "-a", "127.0.0.1", "--bind-interfaces", "--no-resolv",
        "--no-hosts", f"--server={upstream_address}#{upstream}", f"--cache-size={answers}",
        "--dns-forward-max=2000", "--user=root", "--pid-file=", "--conf-file=/dev/null",
    ]


def smartdns_settings(state, port, upstream, answers=ANSWERS):
    return f"""
bind 127.0.0.1:{port}
bind-tcp 127.0.0.1:{port}
{upstream}
cache-size {answers}
cache-persist no
prefetch-domain no
serve-expired yes
speed-check-mode none
response-mode fastest-response
dualstack-ip-selection no
rr-ttl-min 60
log-level fatal
log-file {state}/log
log-size 64K
audit-enable no
"""
