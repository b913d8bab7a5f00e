# SPDX-License-Identifier: Apache-2.0
"""Address families that programs query, by the IPv6 addresses of the machine.

Each program looks up one name in a network namespace with a DNS server that records the queries. The namespaces
have IPv4 and (1) an IPv6 address with a default route, (2) only link-local IPv6 addresses, (3) no IPv6 addresses,
(4) in addition no IPv6 sockets, as with the kernel parameter `ipv6.disable=1`. Packages of the programs on Debian:
musl-tools golang-go openjdk-17-jdk-headless nodejs curl.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

import tables

NAME = "families"

WITHOUT = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"

MACHINES = {
    "IPv6 address and route": [
        "ip -6 address add 2001:db8::2/64 dev v0 nodad",
        "ip -6 route add default via 2001:db8::1 dev v0",
    ],
    "link-local IPv6 only": [],
    "no IPv6 address": [WITHOUT],
    "no IPv6 sockets": [WITHOUT],
}

SETUP = [
    "ip link set lo up",
    "ip link add v0 type veth peer name v1",
    "echo 0 > /proc/sys/net/ipv6/conf/v0/accept_dad",
    "echo 0 > /proc/sys/net/ipv6/conf/v1/accept_dad",
    "ip link set v0 up",
    "ip link set v1 up",
    "ip address add 192.0.2.2/24 dev v0",
    "ip route add default via 192.0.2.1 dev v0",
]

TYPES = {1: "A", 28: "AAAA", 65: "HTTPS"}

C = r"""
#include <netdb.h>
#include <string.h>

int main(int count, char **words) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list;
    if (count > 2 && !strcmp(words[2], "config")) hints.ai_flags = AI_ADDRCONFIG;
    return getaddrinfo(words[1], "80", count > 2 && !strcmp(words[2], "none") ? 0 : &hints, &list);
}
"""

GO = """
package main

import (
    "net"
    "os"
)

func main() {
    if _, err := net.LookupHost(os.Args[1]); err != nil {
        os.Exit(1)
    }
}
"""

JAVA = """
public class Families {
    public static void main(String[] words) throws Exception {
        java.net.InetAddress.getAllByName(words[0]);
    }
}
"""

NODE = (
    "require('dns').lookup(process.argv[1], {{all: true{more}}}, e => process.exit(e ? 1 : 0))"
)


def add_options(parser):
    """Adds the options of this benchmark."""


def run(bench, options):
    del options
    programs = built(bench)
    found = {}
    for machine, setup in MACHINES.items():
        task = bench.write("families.json", json.dumps({
            "setup": SETUP + setup, "programs": programs, "resolver": bench.path("resolv.conf"),
        }))
        bench.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n")
        filtered = [os.path.join(bench.root, "scripts", "without-ipv6")]
        found[machine] = bench.run([
            "unshare", "--net", "--mount", "--map-root-user",
            *(filtered if machine == "no IPv6 sockets" else []), sys.executable, __file__, task,
        ])
    return {
        "benchmark": NAME,
        "queries": {
            title: {machine: found[machine][title] for machine in MACHINES} for title in programs
        },
        "versions": versions(),
        "rows": [],
        "targets": [
            {"what": f"glibc with AI_ADDRCONFIG does not query AAAA with {machine}", "met":
                found[machine]["glibc, AI_ADDRCONFIG"] == ["A"]}
            for machine in ["no IPv6 address", "no IPv6 sockets"]
        ],
    }


def built(bench):
    made = {}

    def compiled(title, compiler, command, *words):
        if not shutil.which(compiler):
            return
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=bench.scratch,
            env={**os.environ, "GOCACHE": bench.path("go"), "GO111MODULE": "off"},
        )
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr}")
        made[title] = [command[command.index("-o") + 1], *words]

    source, glibc, musl = bench.write("families.c", C), bench.path("glibc"), bench.path("musl")
    for title, word in [("AI_ADDRCONFIG", "config"), ("hints null", "none"), ("no flags", "zero")]:
        word = ["NAME", word]
        compiled(f"glibc, {title}", "cc", ["cc", "-o", glibc, source], *word)
    for title, word in [("AI_ADDRCONFIG", "config"), ("no flags", "zero")]:
        compiled(
            f"musl, {title}", "musl-gcc", ["musl-gcc", "-static", "-o", musl, source], "NAME", word
        )
    source = bench.write("families.go", GO)
    for title, tag in [("its own resolver", "netgo"), ("cgo", "netcgo")]:
        compiled(
            f"Go, {title}", "go",
            ["go", "build", "-tags", tag, "-o", bench.path(f"go-{tag}"), source], "NAME",
        )
    if shutil.which("javac"):
        bench.write("Families.java", JAVA)
        subprocess.run(["javac", "Families.java"], cwd=bench.scratch, check=True)
        made["Java"] = ["java", "-cp", bench.scratch, "Families", "NAME"]
        made["Java, preferIPv4Stack"] = [
            "java", "-Djava.net.preferIPv4Stack=true", "-cp", bench.scratch, "Families", "NAME"
        ]
    if shutil.which("node"):
        made["Node, dns.lookup"] = ["node", "-e", NODE.format(more=""), "NAME"]
        made["Node, dns.lookup with ADDRCONFIG"] = [
            "node", "-e", NODE.format(more=", hints: require('dns').ADDRCONFIG"), "NAME"
        ]
    if shutil.which("curl"):
        made["curl"] = ["curl", "--silent", "--max-time", "2", "http://NAME:9/"]
    made["Python, socket.create_connection"] = [
        sys.executable, "-c",
        "import socket, sys\n"
        "try: socket.create_connection((sys.argv[1], 9), 1)\n"
        "except OSError: pass", "NAME",
    ]
    return made


def versions():
    def first(command, pattern):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError:
            return ""
        found = re.search(pattern, done.stdout + done.stderr)
        return found[1] if found else ""

    return {
        "glibc": first(["ldd", "--version"], r"(\d+\.\d+)\n"),
        "musl": first(["dpkg-query", "-W", "-f", "${Version}\n", "musl"], r"([\d.]+)"),
        "Go": first(["go", "version"], r"go(\d\S+)"),
        "Java": first(["java", "-version"], r'version "(\S+)"'),
        "Node": first(["node", "--version"], r"v(\S+)"),
        "curl": first(["curl", "--version"], r"curl (\S+)"),
        "Python": first([sys.executable, "--version"], r"Python (\S+)"),
    }


def inside(task):
    for command in task["setup"]:
        subprocess.run(["sh", "-c", command], check=True, stdout=sys.stderr)
    subprocess.run(["mount", "--bind", task["resolver"], "/etc/resolv.conf"], check=True)
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    queried = {}
    threading.Thread(target=answer, args=(server, queried), daemon=True).start()
    types = {}
    for number, (title, command) in enumerate(task["programs"].items()):
        name = f"p{number}.example.com"
        done = subprocess.run(
            [word.replace("NAME", name) for word in command], capture_output=True, timeout=60
        )
        # The server reads queries in order, so the reply to this query shows that all queries of the program were
        # recorded.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(bytes(12) + b"\0\0\1\0\1", ("127.0.0.1", 53))
            last.recv(512)
        types[title] = sorted(queried.get(name, []))
        if not types[title]:
            sys.exit(f"{title}: no query, {done.stderr.decode()[-300:]}")
    print(json.dumps(types))


def answer(server, queried):
    while True:
        query, client = server.recvfrom(4096)
        labels, offset = [], 12
        while query[offset]:
            labels.append(query[offset + 1:offset + 1 + query[offset]].decode().lower())
            offset += query[offset] + 1
        kind = int.from_bytes(query[offset + 1:offset + 3], "big")
        queried.setdefault(".".join(labels), set()).add(TYPES.get(kind, f"type {kind}"))
        address = {
            1: bytes([192, 0, 2, 80]), 28: socket.inet_pton(socket.AF_INET6, "2001:db8::80"),
        }.get(kind)
        record = b""
        if address:
            record = (
                b"\xc0\x0c" + kind.to_bytes(2, "big") + b"\0\1\0\0\0\x3c"
                + len(address).to_bytes(2, "big") + address
            )
        server.sendto(
            query[:2] + b"\x81\x80\0\1" + (b"\0\1" if record else b"\0\0") + b"\0\0\0\0"
            + query[12:offset + 5] + record,
            client,
        )


def markdown(result):
    versions_text = ", ".join(
        f"{name} {version}" for name, version in result["versions"].items() if version
    )
    return "\n\n".join([
        f"{versions_text}; {result['machine']['versions']['system']}.",
        tables.table(
            ["program", *MACHINES],
            [
                [title, *[", ".join(each[machine]) for machine in MACHINES]]
                for title, each in result["queries"].items()
            ],
        ),
    ])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        inside(json.load(file))
