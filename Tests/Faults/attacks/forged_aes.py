# SPDX-License-Identifier: Apache-2.0
"""An on-path attacker forges encrypted vendor replies from one known block, without the key."""
import os
import sys
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dns.message
import dns.query
from common import Server, main
from vendors import Emulator, stranger

TITLE = "an attacker without the key forges replies of a vendor over `channel: aes`"
PROMISE = "no answer and no /conf forged from one known block is accepted; answers are labelled unprotected"
PEERS = ()
NAMES = 20
KNOWN = "www.dnspod.cn.:6"  # the first block of the reply for the name that the attacker queried

SETTINGS = """
vendors:
  tencent:
    kind: tencent
    channel: aes
    id: 12345
    key: {file: {directory}/key}
    servers: ["127.0.0.1:PORT"]
    conf: {servers: ["127.0.0.1:PORT"]}
routes:
  - {domains: [.], vendors: [tencent], fallback: none}
listen: ["127.0.0.1:{port}"]
control: {socket: "{directory}/control.sock"}
"""


def xor(first, second):
    return bytes(one ^ other for one, other in zip(first, second))


def run(programs, server):
    known = {}

    with Emulator(programs) as emulator:
        def pass_on(path):
            with urllib.request.urlopen(f"http://127.0.0.1:{emulator.port}{path}", timeout=5) as reply:
                return reply.read()

        def answer(path):
            body = pass_on(path)
            sealed = bytes.fromhex(body.decode())
            if path.startswith("/conf"):
                # The documented first block can be changed without the key.
                plain = b"log:0|domain:0|i"
                wanted = b"ip:6.6.6.6" + bytes([6]) * 6
                vector = xor(xor(sealed[:16], plain), wanted)
                return 200, {}, (vector + sealed[16:32]).hex().encode()
            if not known:
                known["block"], known["vector"] = sealed[16:32], sealed[:16]
                known["plain"] = known_plain
                return 200, {}, body
            wanted = b"6.6.6.6,600" + bytes([5]) * 5
            vector = xor(xor(known["vector"], known["plain"]), wanted)
            return 200, {}, (vector + known["block"]).hex().encode()

        known_plain = KNOWN.encode()
        with stranger(answer) as port:
            settings = SETTINGS.replace("PORT", str(port))
            with WithKey(programs, server, settings) as daemon:
                address = (("127.0.0.1", daemon.port))
                first = ask(address, "www.dnspod.cn")
                known_plain = f"www.dnspod.cn.:{first[0]}".encode()[:16] if first else known_plain
                known["plain"] = known_plain
                forged = sum("6.6.6.6" in ask(address, f"bank{i}.example.com") for i in range(NAMES))
                status = daemon.ask("status")
                vendor = status["vendors"][0]
                strangers = sum("6.6.6.6" in one["address"] for one in vendor["servers"])
                label = "unprotected" if vendor.get("protected") is False else "no label"
    figure = f"{forged} of {NAMES} forged, {strangers} servers of a stranger, {label}"
    return figure, forged == 0 and strangers == 0 and label == "unprotected"


class WithKey(Server):
    def _prepare(self):
        file = os.path.join(self.directory, "key")
        with open(file, "w", encoding="ascii") as key:
            key.write("1234567890123456")
        os.chmod(file, 0o600)


def ask(address, name):
    reply = dns.query.udp(dns.message.make_query(name, "A"), address[0], 8, port=address[1])
    return [record.address for rrset in reply.answer for record in rrset if record.rdtype == 1]


if __name__ == "__main__":
    main(globals())
