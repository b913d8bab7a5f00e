# SPDX-License-Identifier: Apache-2.0
"""Cost of a miss that an upstream answers over plain UDP."""
import measuring
import peers
import tables

NAME = "forward"


def add_options(parser):
    measuring.add_round_options(parser)
    peers.add_options(parser)
    add_name_options(parser)


def add_name_options(parser):
    parser.add_argument("--names", type=int, default=20_000, help="names per round (default 20000)")
    parser.add_argument("--concurrent", type=int, default=100, help="queries in flight (default 100)")


class Forwarders(peers.Peers):
    def floor(self, cpu, **_):
        program = self.bench.start(
            [self.bench.tool("forwardloop"), "0", str(self.authority.port)], "answering on ", cpu
        )
        program.port = int(program.said.rsplit(":", 1)[1])
        return program


def run(bench, options):
    world = Forwarders(bench, options)
    return measure(bench, options, world, "miss, plain UDP", "UDP", NAME)


def measure(bench, options, world, what, transport, name):
    def one(title, number, attempt):
        server = world.servers[title]
        command = world.client(
            server, "-1", "-s", 120, "-c", 4, "-w", options.concurrent, "-n", options.names,
            "-k", f"{title[:4]}{number}x{attempt}x", "-x", ".miss.example", "-R", "0", "-a",
        )
        figure = measuring.watched(
            lambda: bench.run(command, world.peer_cpu), server=server, authority=world.authority
        )
        figure["cost_us"] = figure["server_us"] / max(1, figure["answered"])
        return figure

    figures = measuring.in_turn(options, what, list(world.servers), one)
    rows = tables.rows_of(what, figures, **{
        "CPU µs a name": lambda each: each["cost_us"],
        "names/s": lambda each: each["rate"],
        "p50 ms": lambda each: each["times"]["p50_us"] / 1e3,
        "p99 ms": lambda each: each["times"]["p99_us"] / 1e3,
        "no answer": lambda each: each["lost"] + each["wrong"],
    })
    unanswered = sum(each["lost"] + each["wrong"] for each in figures.get("httpdnsd", []))
    return {
        "benchmark": name,
        "about": f"Names without an earlier query, {options.names:,} a round, "
        f"{options.concurrent} at a time, asked of an upstream over {transport}.",
        "parameters": {
            key: getattr(options, key) for key in ("rounds", "names", "concurrent", "servers")
        },
        "rows": rows,
        "rounds": {what: figures},
        "targets": [
            tables.target("every name gets its address", unanswered == 0),
            *tables.cheaper("less processor time than every peer", rows, "CPU µs a name"),
        ],
    }
