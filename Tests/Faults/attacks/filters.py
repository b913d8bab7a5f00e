# SPDX-License-Identifier: Apache-2.0
"""Public names have addresses of the client's machine, its network, or a cloud's metadata service."""
import contextlib
import http.server
import ipaddress
import json
import os
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import urllib.parse

import common

TITLE = "public names with special-purpose addresses"
PROMISE = "no such address passes from an upstream (with rebinding protection) or a vendor, in records or in hints"
PEERS = ("unbound",)

ADDRESSES = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "169.254.169.254",
    "172.16.0.1", "192.0.0.8", "192.168.0.1", "198.18.0.1", "224.0.0.251", "240.0.0.1",
    "255.255.255.255",
    "::", "::1", "::10.0.0.1", "::ffff:10.0.0.1", "::ffff:100.100.100.200", "64:ff9b::10.0.0.1",
    "64:ff9b::100.100.100.200", "64:ff9b:1::10.0.0.1", "100::1", "2001:0:a00:1::1",
    "2001:0:102:304::f5ff:fffe", "2002:a00:1::1", "2002:6464:64c8::1", "fc00::1", "fd00::1",
    "fe80::1", "fec0::1", "ff02::fb",
]
GLOBAL = ["192.0.2.1", "1.1.1.1", "100.128.0.1", "2001:db8::1", "2606:4700::1111", "64:ff9b::1.1.1.1"]

SETTINGS = {
    "httpdnsd": """
listen: ["127.0.0.1:{port}"]
control: {socket: "{directory}/control.sock"}
accelerate: {loopback: "off"}
rebinding: {protect: true}
vendors:
  api: {kind: json, url: "https://dns.example/resolve", servers: ["127.0.0.1:VENDOR"], ca-file: "CERTIFICATE"}
routes: [{domains: [vendor.example], vendors: [api], fallback: none}]
upstreams: [{name: test, url: "udp://127.0.0.1:UPSTREAM"}]
""",
    "unbound": """
server:
    interface: 127.0.0.1
    port: {port}
    username: ""
    chroot: ""
    pidfile: ""
    directory: "{directory}"
    do-not-query-localhost: no
    module-config: "iterator"
    private-address: 10.0.0.0/8
    private-address: 172.16.0.0/12
    private-address: 192.168.0.0/16
    private-address: 169.254.0.0/16
    private-address: 127.0.0.0/8
    private-address: fd00::/8
    private-address: fe80::/10
    private-address: ::ffff:0:0/96
forward-zone:
    name: "."
    forward-addr: 127.0.0.1@UPSTREAM
""",
}

A, AAAA, HTTPS = 1, 28, 65


def address_of(label):
    return ipaddress.ip_address((ADDRESSES + GLOBAL)[int(label[1:])])


def record(kind, address):
    if kind != HTTPS:
        return address.packed
    return struct.pack("!HBHH", 1, 0, 4 if address.version == 4 else 6, len(address.packed)) + address.packed


class Upstream(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def run(self):
        while True:
            try:
                query, client = self.socket.recvfrom(4096)
            except OSError:
                return
            end = 12
            while query[end]:
                end += 1 + query[end]
            end += 5
            kind = struct.unpack("!H", query[end - 4:end - 2])[0]
            label = query[13:13 + query[12]].decode().lower()
            answer, count = b"", 0
            if label[1:].isdigit():
                address = address_of(label)
                if kind == HTTPS or kind == (A if address.version == 4 else AAAA):
                    data, count = record(kind, address), 1
                    answer = b"\xC0\x0C" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data
            head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, count, 0, 0)
            self.socket.sendto(head + query[12:end] + answer, client)


class Vendor(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        name = asked["name"][0]
        kind = asked.get("type", ["A"])[0]
        kind = {"A": A, "AAAA": AAAA}.get(kind) or int(kind)
        address = address_of(name.split(".")[0])
        answers = []
        if kind == (A if address.version == 4 else AAAA):
            answers = [{"name": name, "type": kind, "TTL": 60, "data": str(address)}]
        question = [{"name": name, "type": kind}]
        body = json.dumps({"Status": 0, "Question": question, "Answer": answers}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Disables logging."""


def start_vendor(directory):
    chain, key = os.path.join(directory, "chain.pem"), os.path.join(directory, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", key, "-out", chain, "-days", "2", "-subj", "/CN=dns.example",
         "-addext", "subjectAltName=DNS:dns.example"],
        check=True, capture_output=True,
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, chain


def ask(client, name, kind):
    wire = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    client.send(struct.pack("!HHHHHH", kind, 0x0100, 1, 0, 0, 0) + wire + struct.pack("!HH", kind, 1))
    reply = client.recv(4096)
    offset, found = 12 + len(wire) + 4, []
    for _ in range(struct.unpack("!H", reply[6:8])[0]):
        offset += 2
        type_, _, _, count = struct.unpack("!HHIH", reply[offset:offset + 10])
        if type_ == kind:
            found.append(reply[offset + 10:offset + 10 + count])
        offset += 10 + count
    return found


def passing(client, zone, is_hint):
    passed = []
    for number, text in enumerate(ADDRESSES + GLOBAL):
        address = ipaddress.ip_address(text)
        kind = HTTPS if is_hint else A if address.version == 4 else AAAA
        if any(address.packed in data for data in ask(client, f"n{number}.{zone}", kind)):
            passed.append(text)
    return passed


def run(programs, server):
    upstream = Upstream()
    upstream.start()
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        vendor, certificate = start_vendor(directory)
        stack.callback(vendor.shutdown)
        settings = SETTINGS[server].replace("UPSTREAM", str(upstream.port))
        settings = settings.replace("VENDOR", str(vendor.server_address[1]))
        settings = settings.replace("CERTIFICATE", certificate)
        daemon = stack.enter_context(common.Server(programs, server, settings))
        client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        client.settimeout(8)
        client.connect(("127.0.0.1", daemon.port))
        ways = {"upstream": ("public.example", False), "hints": ("public.example", True)}
        if server == "httpdnsd":
            ways["vendor"] = ("vendor.example", False)
        passed = {way: passing(client, zone, hint) for way, (zone, hint) in ways.items()}
    upstream.socket.close()
    wrong = {way: [text for text in found if text in ADDRESSES] for way, found in passed.items()}
    lost = sum(len(GLOBAL) - len(found) + len(wrong[way]) for way, found in passed.items())
    figure = ", ".join(f"{len(found)} of {len(ADDRESSES)} pass ({way})" for way, found in wrong.items())
    return figure + (f", {lost} global lost" if lost else ""), not lost and not any(wrong.values())


if __name__ == "__main__":
    common.main(globals())
