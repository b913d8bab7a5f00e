# SPDX-License-Identifier: Apache-2.0
"""Lost and leaked queries while a VPN goes up and down under load."""
import collections
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

import tables

NAME = "vpn"

LAN, VPN = "192.0.2.1", "198.51.100.1"
DOMAIN, OTHER = "corp.example.org", "example.com"

MACHINE = f"""
set -e
ip link set lo up
ip link add cable type veth peer name far netns SERVERS
ip address add 192.0.2.10/24 dev cable
ip link set cable up
nsenter --net=/proc/SERVERS/ns/net sh -ec '
    ip link set lo up
    ip address add {LAN}/24 dev far
    ip address add {VPN}/32 dev lo
    ip link set far up'
ip route add default via {LAN}
mount -t tmpfs tmpfs /run
mkdir -p /run/resolvconf/interfaces /run/resolvconf/private
echo nameserver {LAN} > /run/resolvconf/interfaces/cable
"""

UP = f"""
ip link add tun0 type veth peer name tunp netns SERVERS && ip address add 10.66.0.2/24 dev tun0 && ip link set tun0 up &&
nsenter --net=/proc/SERVERS/ns/net sh -ec 'ip address add 10.66.0.1/24 dev tunp; ip link set tunp up' &&
ip route add {VPN} via 10.66.0.1 &&
touch /run/resolvconf/private/tun0 &&
printf 'search {DOMAIN}\\nnameserver {VPN}\\n' > /run/resolvconf/interfaces/tun0
"""

DOWN = """
ip link del tun0 && rm /run/resolvconf/interfaces/tun0 /run/resolvconf/private/tun0
"""


def add_options(parser):
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--rate", type=int, default=1000, help="queries per second")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds for which the VPN is up, and then down (default 0.5)")


def run(bench, options):
    task = {
        "daemon": bench.product("httpdnsd"), "scratch": bench.scratch, "cycles": options.cycles,
        "rate": options.rate, "pause": options.pause,
    }
    settings = bench.write("task.json", json.dumps(task))
    done = subprocess.run(
        ["unshare", "--net", "--mount", "--propagation", "private", sys.executable, __file__, settings],
        stdout=subprocess.PIPE, text=True, check=True,
    )
    counts = json.loads(done.stdout)
    return {
        "command": NAME, "counts": counts, "rows": [],
        "targets": [
            {"what": "no query is lost", "met": counts["lost"] == 0},
            {"what": "no name of the VPN goes to another server", "met": counts["leaked"] == 0},
            {"what": "no other name goes to the VPN", "met": counts["foreign"] == 0},
            {"what": "other names are answered while the VPN changes", "met": counts["failed"] == 0},
        ],
    }


def markdown(result):
    return tables.table(["", "queries"], [[what, f"{count:,}"] for what, count in result["counts"].items()])


def inside(task):
    servers = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE
    )
    children = [servers]
    try:
        servers.stdout.readline()
        up = UP.replace("SERVERS", str(servers.pid))
        shell(MACHINE.replace("SERVERS", str(servers.pid)))
        logs = []
        for address, answer in [(LAN, "/#/203.0.113.1"), (VPN, f"/{DOMAIN}/203.0.113.2")]:
            log = f"{task['scratch']}/{address}.log"
            logs.append(log)
            children.append(subprocess.Popen([
                "nsenter", f"--net=/proc/{servers.pid}/ns/net", "dnsmasq", "--keep-in-foreground",
                "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root", "--bind-interfaces",
                f"--listen-address={address}", f"--address={answer}", "--local-ttl=60", "--log-queries",
                f"--log-facility={log}", "--pid-file",
            ]))
        settings = f"{task['scratch']}/vpn.yaml"
        with open(settings, "w", encoding="utf-8") as file:
            file.write(
                "listen: [\"127.0.0.1:53\"]\nhosts: {files: []}\n"
                f"control: {{socket: {task['scratch']}/vpn.sock, mode: \"0600\"}}\n"
                "upstreams: [{name: network, from: network}]\n"
            )
        daemon = subprocess.Popen(
            [task["daemon"], "--config", settings], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/run/none"},
        )
        children.append(daemon)
        says = Lines(daemon.stderr)
        says.wait(f"network resolvers: {LAN}")
        shell(up)
        says.wait(f"routing domains: {DOMAIN} (tun0)")
        load = Load(task["rate"])
        for _ in range(task["cycles"]):
            load.stop.wait(task["pause"])
            shell(DOWN)
            load.stop.wait(task["pause"])
            shell(up)
        load.end()
    finally:
        for child in children[::-1]:
            child.terminate()
            child.wait()
    names = [asked(log) for log in logs]
    print(json.dumps({
        "sent": load.sent,
        "lost": load.sent - sum(load.codes.values()),
        "names of the VPN, answered": load.codes["v", 0],
        "names of the VPN, SERVFAIL while it was down": load.codes["v", 2],
        "other names, answered": load.codes["o", 0],
        "failed": sum(count for (kind, code), count in load.codes.items() if kind == "o" and code),
        "leaked": sum(name.endswith(DOMAIN) for name in names[0]),
        "foreign": sum(not name.endswith(DOMAIN) for name in names[1] if name != "."),
        "queries to the network": len(names[0]),
        "queries to the VPN": len(names[1]),
    }))


def shell(text):
    subprocess.run(["sh", "-c", text], check=True, stdout=sys.stderr)


def asked(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        # Converts to lower case, because httpdnsd sends names in mixed case.
        return re.findall(r" query\[\w+\] (\S+) from ", file.read().lower())


class Lines:
    """The lines that a program prints."""

    def __init__(self, stream):
        self.lines, self.change = [], threading.Condition()
        threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream):
        for line in stream:
            with self.change:
                self.lines.append(line)
                self.change.notify_all()

    def wait(self, text):
        with self.change:
            if not self.change.wait_for(lambda: any(text in line for line in self.lines), 30):
                sys.exit(f"'{text}' is missing in: {''.join(self.lines)}")


class Load:
    """Sends queries at a constant rate, each for a new name, and counts the replies by RCODE."""

    def __init__(self, rate):
        self.rate, self.sent, self.codes = rate, 0, collections.Counter()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.connect(("127.0.0.1", 53))
        self.stop, self.seen = threading.Event(), set()
        self.threads = [threading.Thread(target=each) for each in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def send(self):
        start = time.monotonic()
        while not self.stop.wait(0.002):
            due = int((time.monotonic() - start) * self.rate)
            while self.sent < due:
                kind = "vo"[self.sent % 2]
                name = f"{kind}{self.sent}.{DOMAIN if kind == 'v' else OTHER}"
                question = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
                head = (self.sent & 0xFFFF).to_bytes(2, "big") + b"\1\0\0\1\0\0\0\0\0\0"
                self.socket.send(head + question + b"\0\0\1\0\1")
                self.sent += 1

    def receive(self):
        self.socket.settimeout(0.5)
        while True:
            try:
                reply = self.socket.recv(2048)
            except TimeoutError:
                if self.stop.is_set() and time.monotonic() > self.last:
                    return
                continue
            name = reply[13:13 + reply[12]]
            if name not in self.seen:
                self.seen.add(name)
                self.codes[chr(name[0]), reply[3] & 15] += 1

    def end(self):
        # Waits 5.5 s for the last replies: httpdnsd answers each query within 5 s.
        self.last = time.monotonic() + 5.5
        self.stop.set()
        for thread in self.threads:
            thread.join()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        inside(json.load(file))
