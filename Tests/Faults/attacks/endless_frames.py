# SPDX-License-Identifier: Apache-2.0
"""An upstream over HTTPS answers its first query with empty HTTP/2 frames without end (RFC 9113 §10.5)."""
import tempfile

import common
import servers

TITLE = "an upstream over HTTPS sends empty HTTP/2 frames without end"
PROMISE = servers.PROMISE
PEERS = ()


def answer(stream, begin=lambda: None):
    """After any other query, calls `begin` and sends frames without end."""
    connection = servers.HTTP2(stream.sendall)
    while octets := stream.recv(65536):
        for number, query in connection.queries(octets):
            connection.begin(number)
            if query[12] == 0:
                connection.end(number, servers.honest(query))
                continue
            begin()
            while True:
                stream.sendall(servers.frame(servers.DATA, 0, number) * 1800)


def serve(client, context):
    with context.wrap_socket(client, server_side=True) as stream:
        answer(stream)


def run(programs, server):
    with tempfile.TemporaryDirectory() as directory:
        file, context = common.certificate(directory)
        context.set_alpn_protocols(["h2"])
        return servers.attacked(programs, server, "https", file, lambda client: serve(client, context))


if __name__ == "__main__":
    common.main(globals())
