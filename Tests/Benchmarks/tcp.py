# SPDX-License-Identifier: Apache-2.0
"""Cost of an answer from the cache over TCP, with many queries per connection.

Each connection has its share of 192 queries in flight (RFC 7766). dnsmasq is left out: it closes a connection
after a hundred queries.
"""
import measuring
import peers
import tables

NAME = "tcp"


def add_options(parser):
    measuring.add_round_options(parser)
    peers.add_options(parser, [name for name in peers.ALL if name != "dnsmasq"])
    parser.add_argument("--connections", default="8,16", help="numbers of connections (default 8,16)")


def run(bench, options):
    wanted = peers.chosen(options)
    world = peers.Peers(bench, options, [title for title in wanted if title != "floor"])
    for server in world.servers.values():
        world.fill(server, 1000, "-a")
    if "floor" in wanted:
        world.servers["floor"] = world.start("floor", transport="tcp")
    rows, rounds = [], {}
    for connections in map(int, options.connections.split(",")):
        what = f"TCP hit, {connections} connections"

        def one(title, *_):
            server = world.servers[title]
            command = world.client(
                server, "-T", "-c", connections, "-s", options.seconds, "-R", "0", "-a"
            )
            figure = measuring.watched(
                lambda: bench.run(command, world.peer_cpu),
                server=server,
                authority=world.authority,
            )
            figure["cost_us"] = figure["server_us"] / max(1, figure["answered"])
            return figure

        rounds[what] = measuring.in_turn(options, what, list(world.servers), one)
        rows += tables.rows_of(
            what,
            rounds[what],
            **{"CPU µs/q": lambda each: each["cost_us"], "q/s": lambda each: each["rate"]},
        )
    return {
        "benchmark": NAME,
        "about": "Answers from the cache over TCP, 1,000 names, 192 queries on their way.",
        "parameters": {
            key: getattr(options, key) for key in ("rounds", "seconds", "servers", "connections")
        },
        "rows": rows,
        "rounds": rounds,
        "targets": tables.cheaper("less processor time than every peer", rows),
    }
