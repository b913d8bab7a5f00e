# SPDX-License-Identifier: Apache-2.0
"""An upstream over HTTPS sends TLS session tickets without end after the handshake (RFC 8446 §4.6.1)."""
import ctypes
import os
import tempfile

import common
import servers

TITLE = "an upstream over HTTPS sends TLS session tickets without end"
PROMISE = "the daemon uses at most 20 % of a core, and each name that another server answers takes at most 1 s"
PEERS = ()

SSL = ctypes.CDLL("libssl.so.3")
for name in ("TLS_server_method", "SSL_CTX_new", "SSL_new"):
    getattr(SSL, name).restype = ctypes.c_void_p


def serve(client, context):
    connection = ctypes.c_void_p(SSL.SSL_new(context))
    SSL.SSL_set_fd(connection, client.fileno())
    if SSL.SSL_accept(connection) != 1:
        return
    while SSL.SSL_new_session_ticket(connection) == 1 and SSL.SSL_do_handshake(connection) == 1:
        pass


def run(programs, server):
    with tempfile.TemporaryDirectory() as directory:
        file, _ = common.certificate(directory)
        context = ctypes.c_void_p(SSL.SSL_CTX_new(ctypes.c_void_p(SSL.TLS_server_method())))
        SSL.SSL_CTX_use_certificate_file(context, file.encode(), 1)
        SSL.SSL_CTX_use_PrivateKey_file(context, os.path.join(directory, "key.pem").encode(), 1)
        with servers.listening(lambda client: serve(client, context)) as port, \
                common.upstream(lambda label: (0, 1)) as plain:
            text = common.forwarding(server, plain) + servers.hostile(server, "https", port, file)
            with common.Server(programs, server, text) as victim, common.attacking(
                    lambda: common.send_names(victim.port, "n{}.hostile.example", 5, common.CLIENTS[:1])):
                before = victim.processor_seconds()
                figure, holds = servers.other_names(victim.port)
                share = (victim.processor_seconds() - before) / servers.SECONDS
        return f"{share:.0%} of a core, {figure}", holds and share <= 0.2


if __name__ == "__main__":
    common.main(globals())
