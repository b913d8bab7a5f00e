# SPDX-License-Identifier: Apache-2.0
"""Names and pages that programs reach on a network without IPv4.

The DNS server of the network answers www.example.com with a wrong address; only the vendor, with a server that
has only IPv4, knows the right address. plain.example.net has one IPv4 address. The network has DNS64, or the
router announces its NAT64 prefix (RFC 8781), or neither.
"""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

import tables

NAME = "nat64"

ROUTER, PREFIX = "2001:db8:1::1", "2001:db8:64::"
VENDOR, WEB, WRONG, AUTHORITY = "203.0.113.1", "203.0.113.77", "203.0.113.99", "203.0.113.53"

NETWORKS = {
    "DNS64": "the network has DNS64",
    "announced": "without DNS64; the router announces the NAT64 prefix",
    "set": "without DNS64 and announcement; the prefix is in the settings",
}

RESOLVED = "/lib/systemd/systemd-resolved"


def add_options(parser):
    parser.add_argument("--resolved", default=RESOLVED, help=f"systemd-resolved, if installed (default {RESOLVED})")


def run(bench, options):
    authority, chain, key = bench.certificates("DNS:www.example.com,DNS:plain.example.net,DNS:vendor.example.org")
    task = {
        "daemon": bench.product("httpdnsd"), "emulator": bench.product("httpdns-emulator"), "scratch": bench.scratch,
        "authority": authority, "chain": chain, "key": key, "resolved": options.resolved, "go": go(bench),
        "zone": bench.write("nat64.zone", f"www.example.com 300 A {WEB}\n"),
    }
    settings = bench.write("task.json", json.dumps(task))
    done = subprocess.run(
        ["unshare", "--net", "--mount", "--propagation", "private", sys.executable, __file__, settings],
        stdout=subprocess.PIPE, text=True, check=True,
    )
    results = json.loads(done.stdout)
    ours = [result for result in results if result["server"] == "httpdnsd"]
    return {
        "command": NAME, "results": results, "rows": [],
        "targets": [
            {"what": f"httpdnsd: {program}, {result['network']}", "met": result[program] == "right"}
            for result in ours for program in ("curl", "getaddrinfo", "Go", "plain")
        ],
    }


def markdown(result):
    return tables.table(
        ["network", "DNS server of the machine", "www: curl", "www: getaddrinfo", "www: Go", "plain: curl"],
        [
            [NETWORKS[each["network"]], each["server"], *(each[program] for program in ("curl", "getaddrinfo", "Go", "plain"))]
            for each in result["results"]
        ],
    )


def go(bench):
    if not shutil.which("go"):
        return ""
    source = bench.write("client.go", """
package main

import ("crypto/tls"; "crypto/x509"; "fmt"; "net/http"; "os"; "time")

func main() {
    pool := x509.NewCertPool()
    text, _ := os.ReadFile(os.Args[1])
    pool.AppendCertsFromPEM(text)
    client := http.Client{Timeout: 8 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
    reply, err := client.Get(os.Args[2])
    if err != nil { fmt.Println(err); os.Exit(1) }
    fmt.Println(reply.StatusCode)
}
""")
    program = bench.path("client")
    subprocess.run(
        ["go", "build", "-o", program, source], check=True,
        env={**os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0", "GOCACHE": bench.path("go")},
    )
    return program


class World:
    """Namespaces and programs; the calling process runs in the namespaces of the machine."""

    def __init__(self, task):
        self.task, self.children = task, []

    def path(self, name):
        return f"{self.task['scratch']}/{name}"

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def namespace(self):
        child = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
        child.stdout.readline()
        self.children.append(child)
        return child.pid

    def start(self, command, place=None, **more):
        command = ["nsenter", f"--net=/proc/{place}/ns/net", *command] if place else command
        with open(self.path("programs.log"), "ab") as log:
            child = subprocess.Popen(command, stdout=log, stderr=log, **more)
        self.children.append(child)
        return child

    def stop(self, children):
        for child in children[::-1]:
            child.terminate()
            child.wait()
            self.children.remove(child)

    def unbound(self, name, place, text):
        settings = self.write(name, f"""
server:
    directory: "{self.task['scratch']}"
    chroot: ""
    username: ""
    pidfile: ""
    use-syslog: no
    do-daemonize: no
    do-not-query-localhost: no
    {text}
""")
        return self.start(["unbound", "-d", "-c", settings], place)


def shell(text):
    subprocess.run(["sh", "-ec", text], check=True, stdout=sys.stderr)


def wait(what, test, seconds=30):
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not test():
        if time.monotonic() > end:
            sys.exit(f"nat64: {what} within {seconds} s did not happen")
        pause.wait(0.05)


def answers(address, name, kind):
    command = ["dig", "+short", "+tries=1", "+time=1", f"@{address}", name, kind]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() != ""


def inside(task):
    world = World(task)
    try:
        print(json.dumps(measure(world)))
    except BaseException:
        with open(world.path("programs.log"), encoding="utf-8", errors="replace") as log:
            sys.stderr.write(log.read()[-4000:])
        raise
    finally:
        world.stop(world.children)


def measure(world):
    router, internet = world.namespace(), world.namespace()
    enter = "nsenter --net=/proc/{}/ns/net sh -ec '{}'"
    tayga = world.write("tayga.conf", f"tun-device nat64\nipv4-addr 198.51.100.1\nprefix {PREFIX}/96\n"
                        f"dynamic-pool 198.51.100.0/24\ndata-dir {world.task['scratch']}\n")
    shell(f"""
        ip link set lo up
        ip link add cable type veth peer name far netns {router}
        ip link set cable up
        nsenter --net=/proc/{router}/ns/net sh -ec '
            ip link add wan type veth peer name isp netns {internet}
            sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv4.ip_forward=1
            ip link set lo up; ip link set far up; ip link set wan up
            ip address add {ROUTER}/64 dev far nodad
            ip address add 203.0.113.254/24 dev wan
            tayga -c {tayga} --mktun
            ip link set nat64 up
            ip route add 198.51.100.0/24 dev nat64
            ip -6 route add {PREFIX}/96 dev nat64'
        nsenter --net=/proc/{internet}/ns/net sh -ec '
            ip link set lo up; ip link set isp up
            for address in {VENDOR} {WEB} {AUTHORITY}; do ip address add $address/24 dev isp; done
            ip route add 198.51.100.0/24 via 203.0.113.254'
        mount -t tmpfs tmpfs /run
        mkdir -p /run/resolvconf/interfaces
        echo nameserver {ROUTER} > /run/resolvconf/interfaces/cable
    """)
    world.start(["tayga", "-c", tayga, "-n"], router)
    radvd = world.write("radvd.conf", "interface far { AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4;\n"
                        "  prefix 2001:db8:1::/64 { AdvOnLink on; AdvAutonomous on; };\n"
                        f"  RDNSS {ROUTER} {{ }};\n}};\n")
    world.start(["radvd", "-n", "-C", radvd, "-p", world.path("radvd.pid"), "-m", "stderr"], router)
    world.start([world.task["emulator"], "--listen", "127.0.0.1:8080", "--zone", world.task["zone"]], internet)
    world.start(["nginx", "-p", world.task["scratch"], "-e", "stderr", "-c", world.write("nginx.conf", f"""
        daemon off; pid nginx.pid; user root; events {{ }}
        http {{
            access_log off; client_body_temp_path body; proxy_temp_path proxy;
            fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            ssl_certificate {world.task['chain']}; ssl_certificate_key {world.task['key']};
            server {{ listen {VENDOR}:443 ssl http2; location / {{ proxy_pass http://127.0.0.1:8080; }} }}
            server {{ listen {WEB}:443 ssl http2; location / {{ return 200 page; }} }}
        }}
    """)], internet)
    world.unbound("authority.conf", internet, f"""interface: {AUTHORITY}
    access-control: 0.0.0.0/0 allow
    local-zone: "." static
    local-data: "www.example.com. 300 A {WRONG}"
    local-data: "plain.example.net. 300 A {WEB}"
    local-data: "ipv4only.arpa. 300 A 192.0.0.170"
    local-data: "ipv4only.arpa. 300 A 192.0.0.171"
    """)
    wait("a default route", lambda: b"default" in subprocess.check_output(["ip", "-6", "route"]))
    wait("an address", lambda: b"2001:db8:1:" in subprocess.check_output(["ip", "-6", "address", "show", "-tentative"]))
    return [
        each for network in NETWORKS for each in in_network(world, router, network)
    ]


def in_network(world, router, network):
    module = f'module-config: "dns64 iterator"\n    dns64-prefix: {PREFIX}/96' if network == "DNS64" else \
        'module-config: "iterator"'
    server = world.unbound(f"router-{network}.conf", router, f"""interface: {ROUTER}
    access-control: ::/0 allow
    {module}
forward-zone:
    name: "."
    forward-addr: {AUTHORITY}
    """)
    wait("an answer of the router", lambda: answers(ROUTER, "plain.example.net", "A"))
    announcement = threading.Event()
    if network == "announced":
        threading.Thread(target=announce, args=(router, announcement), daemon=True).start()
    results = []
    for name, start in [
        ("none", lambda *_: []), ("httpdnsd", httpdnsd), ("unbound, dns64", local_unbound), ("dnsmasq", dnsmasq),
        ("systemd-resolved", resolved),
    ]:
        if name == "systemd-resolved" and not os.access(world.task["resolved"], os.X_OK):
            continue
        children = start(world, network)
        address = {"none": ROUTER, "systemd-resolved": "127.0.0.53"}.get(name, "127.0.0.1")
        resolver = world.write("resolv.conf", f"nameserver {address}\n")
        shell(f"mount --bind {resolver} $(readlink -f /etc/resolv.conf)")
        wait(f"an answer of {name}", lambda: answers(address, "plain.example.net", "A"))
        results.append({"network": network, "server": name, **programs(world)})
        shell("umount $(readlink -f /etc/resolv.conf)")
        world.stop(children)
    announcement.set()
    world.stop([server])
    return results


def announce(router, end):
    with open(f"/proc/{router}/ns/net", encoding="utf-8") as space:
        os.setns(space.fileno(), os.CLONE_NEWNET) if hasattr(os, "setns") else setns(space.fileno())
    stream = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    stream.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    index = socket.if_nametoindex("far")
    head = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0)
    option = struct.pack("!BBH", 38, 2, 600) + socket.inet_pton(socket.AF_INET6, PREFIX)[:12]
    while not end.wait(0.5):
        stream.sendto(head + option, ("ff02::1", 0, 0, index))


def setns(descriptor):
    import ctypes
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0x40000000) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def httpdnsd(world, network):
    prefix = f'nat64: "{PREFIX}/96"\ndns64: all\n' if network == "set" else "dns64: all\n"
    settings = world.write("nat64.yaml", f"""
listen: ["127.0.0.1:53"]
control: {{socket: {world.path("nat64.sock")}, mode: "0600"}}
hosts: {{files: []}}
{prefix if network != "DNS64" else ""}
vendors:
  vendor: {{kind: json, url: "https://vendor.example.org/resolve", servers: ["{VENDOR}"], ca-file: {world.task['authority']}}}
routes: [{{domains: [example.com], vendors: [vendor]}}]
upstreams: [{{name: network, from: network}}]
""")
    children = [world.start(
        [world.task["daemon"], "--config", settings],
        env={**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/run/none", "STATE_DIRECTORY": world.path("")},
    )]
    wait("synthesized addresses", lambda: answers("127.0.0.1", "www.example.com", "AAAA"))
    return children


def local_unbound(world, _):
    return [world.unbound("local.conf", None, f"""interface: 127.0.0.1
    module-config: "dns64 iterator"
    dns64-prefix: {PREFIX}/96
forward-zone:
    name: "."
    forward-addr: {ROUTER}
    """)]


def dnsmasq(world, _):
    return [world.start([
        "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root", "--pid-file",
        "--bind-interfaces", "--listen-address=127.0.0.1", f"--server={ROUTER}",
    ])]


def resolved(world, _):
    shell("mkdir -p /run/systemd/resolve /run/systemd/resolved.conf.d; chown systemd-resolve: /run/systemd/resolve")
    with open("/run/systemd/resolved.conf.d/nat64.conf", "w", encoding="utf-8") as file:
        file.write(f"[Resolve]\nDNS={ROUTER}\nFallbackDNS=\nDomains=~.\nDNSSEC=no\nLLMNR=no\nMulticastDNS=no\n")
    return [world.start([world.task["resolved"]], env={**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/run/none"})]


def programs(world):
    """Returns the result of each program: `right`, `wrong` (the wrong address of the network's DNS server) or an error."""
    def page(name, *command):
        done = subprocess.run([*command, f"https://{name}/"], capture_output=True, text=True)
        return "right" if done.returncode == 0 else "no page"

    curl = ["curl", "--silent", "--fail", "--noproxy", "*", "--max-time", "8", "--cacert", world.task["authority"]]
    found = subprocess.run(["getent", "ahosts", "www.example.com"], capture_output=True, text=True).stdout.split()
    right, wrong = (f"{PREFIX}{int.from_bytes(socket.inet_aton(each), 'big') >> 16:x}:"
                    f"{int.from_bytes(socket.inet_aton(each), 'big') & 0xFFFF:x}" for each in (WEB, WRONG))
    return {
        "curl": page("www.example.com", *curl),
        "getaddrinfo": "right" if right in found else "wrong" if wrong in found else "IPv4 only" if found else "no address",
        "Go": page("www.example.com", world.task["go"], world.task["authority"]) if world.task["go"] else "not tried",
        "plain": page("plain.example.net", *curl),
    }


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        inside(json.load(file))
