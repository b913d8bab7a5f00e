# SPDX-License-Identifier: Apache-2.0
"""One forged refusal with a date in 2100 makes the daemon sign later calls with an expiry in 2100."""
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dns.message
import dns.query
from common import Server, main
from vendors import stranger

TITLE = "one forged 403 has a date in 2100, to move the vendor's clock"
PROMISE = "no signature of a call is valid for more than 20 minutes"
PEERS = ()

SETTINGS = """
vendors:
  alibaba:
    kind: alibaba
    account: "100000"
    secret: {file: {directory}/secret}
    scheme: http
    servers: ["127.0.0.1:PORT"]
routes:
  - {domains: [.], vendors: [alibaba], fallback: none}
listen: ["127.0.0.1:{port}"]
control: {socket: "{directory}/control.sock"}
"""


def run(programs, server):
    ahead = []
    replies = []

    def answer(path):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        ahead.append(int(query["exp"][0]) - time.time() if "exp" in query else 0)
        replies.append(path)
        if len(replies) == 1:
            return 403, {"Date": "Fri, 01 Jan 2100 00:00:00 GMT"}, b"{}"
        # The vendor accepts any expiry.
        name = query["dn"][0]
        body = f'{{"code":"success","mode":"0","data":{{"answers":[{{"dn":"{name}",' \
            '"v4":{"ips":["192.0.2.7"],"ttl":60},"v6":{"ips":[],"ttl":60}}]}}'
        return 200, {}, body.encode()

    with stranger(answer) as port:
        with WithSecret(programs, server, SETTINGS.replace("PORT", str(port))) as daemon:
            for number in range(5):
                query = dns.message.make_query(f"n{number}.example.com", "A")
                dns.query.udp(query, "127.0.0.1", 8, port=daemon.port)
    longest = max(ahead)
    return f"signed for {longest / 60:,.0f} min ahead", longest <= 1200


class WithSecret(Server):
    def _prepare(self):
        file = os.path.join(self.directory, "secret")
        with open(file, "w", encoding="ascii") as secret:
            secret.write("00" * 32)
        os.chmod(file, 0o600)


if __name__ == "__main__":
    main(globals())
