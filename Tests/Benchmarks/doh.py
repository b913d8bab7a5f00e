# SPDX-License-Identifier: Apache-2.0
"""Cost of a miss that an upstream answers over HTTPS (RFC 8484).

Distinct uncached names, 100 in flight; the upstream is dnsdist, which synthesizes every answer.
"""
import forward
import harness
import measuring
import peers

NAME = "doh"
HOST = "doh.example.net"


def add_options(parser):
    measuring.add_round_options(parser)
    peers.add_options(parser, ["httpdnsd", "dnsdist", "smartdns"])
    forward.add_name_options(parser)


class Encrypted(peers.Peers):
    def nsd(self, cpu=None):
        """nsd does not support HTTPS."""
        self.authorities, chain, key = self.bench.certificates(f"DNS:{HOST}")
        self.port = harness.free_port()
        state, port = self.directory("doh")
        file = self.bench.write(f"{state}/dnsdist.lua", f"""
setLocal('127.0.0.1:{port}')
addDOHLocal('127.0.0.1:{self.port}', '{chain}', '{key}', {{'/dns-query'}},
            {{maxConcurrentTCPConnections=1000, idleTimeout=3600}})
setACL('127.0.0.0/8')
setSecurityPollSuffix('')
addAction(AllRule(), SpoofAction({{'192.0.2.1', '2001:db8::1'}}, {{ttl=86400}}))
""")
        command = ["dnsdist", "--supervised", "--disable-syslog", "-C", file]
        return self.bench.serve(command, port, peers.question(peers.READY), cpu)

    def httpdnsd(self, cpu, **_):
        return self.bench.daemon(f"""
workers: 1
upstreams:
  - {{name: authority, url: "https://{HOST}/dns-query", addresses: ["127.0.0.1:{self.port}"],
      ca-file: {self.authorities}}}
hosts: {{files: []}}
cache: {{size: 512MiB, snapshot: off}}
""", cpu)

    def dnsdist(self, cpu, **_):
        return super().dnsdist(cpu, upstream=(
            f"{{address='127.0.0.1:{self.port}', tls='openssl', subjectName='{HOST}', "
            f"dohPath='/dns-query', validateCertificates=true, caStore='{self.authorities}', "
            "checkInterval=10}"
        ))

    def smartdns(self, cpu, **_):
        return super().smartdns(cpu, upstream=(
            f"server-https https://127.0.0.1:{self.port}/dns-query -host-name {HOST} "
            f"-http-host {HOST} -no-check-certificate"
        ))


def run(bench, options):
    world = Encrypted(bench, options)
    return forward.measure(bench, options, world, "miss, DNS over HTTPS", "HTTPS", NAME)
