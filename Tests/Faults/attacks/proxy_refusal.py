# SPDX-License-Identifier: Apache-2.0
"""A proxy replies to CONNECT with a refusal that has an endless body, or with endless headers (RFC 9110 §9.3.6).

libcurl 7.88 reads the reply to CONNECT octet by octet in one call, and discards the body of a refusal.
"""
import common
import servers

TITLE = "a proxy answers CONNECT with a body or with headers without end"
PROMISE = servers.PROMISE
PEERS = ()

REFUSAL = b"HTTP/1.1 407 Proxy Authentication Required\r\n"
PARTS = {
    "body": (REFUSAL + b"Content-Length: 9000000000000\r\n\r\n", b"x" * 60000),
    "chunks": (REFUSAL + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10000),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: x\r\n" * 10000),
}


def serve(client, head, rest):
    client.recv(65536)
    client.sendall(head)
    while True:
        client.sendall(rest)


def part(programs, server, head, rest):
    with servers.listening(lambda client: serve(client, head, rest)) as proxy, \
            common.upstream(lambda label: (0, 1)) as plain:
        text = common.forwarding(server, plain) + f"""
vendors:
  hostile: {{kind: json, url: "https://192.0.2.9/q?name={{name}}&type={{type}}", servers: [192.0.2.9],
            proxy: "http://127.0.0.1:{proxy}"}}
routes: [{{domains: [hostile.example], vendors: [hostile]}}]
"""
        with common.Server(programs, server, text) as victim, common.attacking(
                lambda: common.send_names(victim.port, "n{}.hostile.example", 50, common.CLIENTS[:1])):
            return servers.other_names(victim.port)


def run(programs, server):
    results = {name: part(programs, server, *reply) for name, reply in PARTS.items()}
    figure = ", ".join(f"{name}: {figure}" for name, (figure, _) in results.items())
    return figure, all(holds for _, holds in results.values())


if __name__ == "__main__":
    common.main(globals())
