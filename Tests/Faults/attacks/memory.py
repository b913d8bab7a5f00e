# SPDX-License-Identifier: Apache-2.0
"""Clients query answers of 64 KiB from a slow upstream over TCP, and do not read the replies."""
import common

TITLE = "TCP connections with 100 queries each for answers of 64 KiB, which the client does not read"
PROMISE = "the resident memory is at most 96 MiB"
PEERS = ("unbound",)

CONNECTIONS, QUERIES, RECORDS = 60, 100, 4000
LIMIT = 96


def run(programs, server):
    with common.upstream(lambda label: (1.5, RECORDS)) as port:
        settings = common.forwarding(server, port)
        with common.Server(programs, server, settings) as daemon:
            clients = []
            for name in ("slow.example", "n{}x{}.example"):
                for _ in range(CONNECTIONS):
                    clients.append(common.connect(daemon.port, common.CLIENTS[0]))
                for number, client in enumerate(clients[-CONNECTIONS:]):
                    names = (name.format(number, query) for query in range(QUERIES))
                    try:
                        client.sendall(b"".join(
                            common.framed(common.query(name, ident))
                            for ident, name in enumerate(names)
                        ))
                    except OSError:
                        # Too many octets wait for the client.
                        continue
                common.pause(6)
            alive = daemon.is_alive()
            peak = daemon.resident_mebibytes(peak=True)
            for client in clients:
                client.close()
    return f"{peak:.0f} MiB" + ("" if alive else ", dead"), alive and peak <= LIMIT


if __name__ == "__main__":
    common.main(globals())
