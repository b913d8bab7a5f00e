# SPDX-License-Identifier: Apache-2.0
"""An upstream over HTTP/1.1 with four addresses answers no query, so that each query occupies a connection."""
import tempfile

import common
import servers

TITLE = "an upstream over HTTP/1.1 with four addresses answers no query"
PROMISE = "during the attack, each name of another upstream over HTTPS takes at most 1 s"
PEERS = ()
ADDRESSES = ("127.0.0.11", "127.0.0.12", "127.0.0.13", "127.0.0.14")


def serve(client, context, is_silent):
    with context.wrap_socket(client, server_side=True) as stream:
        for query in servers.http1(stream):
            if is_silent and query[12] != 0:
                stream.recv(1)
                return
            stream.sendall(servers.http1_reply(servers.honest(query)))


def run(programs, server):
    with tempfile.TemporaryDirectory() as directory:
        file, context = common.certificate(directory)
        with servers.listening(lambda client: serve(client, context, True), ADDRESSES) as silent, \
                servers.listening(lambda client: serve(client, context, False)) as honest:
            text = common.forwarding(server, servers.entry("honest", "https", honest, file))
            text += servers.hostile(server, "https", silent, file, ADDRESSES)
            with common.Server(programs, server, text) as victim, common.attacking(
                    lambda: common.send_names(victim.port, "n{}.hostile.example", 100, common.CLIENTS[:1])):
                common.pause(2)
                return servers.other_names(victim.port, interval=0.1)


if __name__ == "__main__":
    common.main(globals())
