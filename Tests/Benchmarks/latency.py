# SPDX-License-Identifier: Apache-2.0
"""Latency of an answer from the cache: one client, a fixed rate, and getaddrinfo().

*One at a time*: a client sends a query, waits, and sends the next. The C server *polling* never sleeps, and so
shows the minimum that the kernel and the client allow. *At a rate*: queries are sent at their due times, and each
latency begins at the due time.
"""
import measuring
import peers
import tables

NAME = "latency"


def add_options(parser):
    measuring.add_round_options(parser)
    peers.add_options(parser)
    parser.add_argument(
        "--rates", default="2000,20000", help="query rates per second (default 2000,20000)"
    )
    parser.add_argument(
        "--lookups", type=int, default=3000, help="calls of getaddrinfo() per round (default 3000)"
    )


def run(bench, options):
    world = peers.Peers(bench, options)
    for title, server in world.servers.items():
        if title != "floor":
            world.fill(server, 1000, "-a")
            world.fill(server, 1000, "-a", "-t", peers.TYPES["AAAA"])
    rows, rounds = [], {}

    def case(what, command, servers, **units):
        def one(title, *_):
            server = world.servers[title]
            figure = measuring.watched(
                lambda: bench.run(command(server), world.peer_cpu),
                server=server,
                authority=world.authority,
            )
            done = figure.get("answered", options.lookups)
            figure["cost_us"] = figure["server_us"] / max(1, done)
            return figure

        rounds[what] = measuring.in_turn(options, what, servers, one)
        rows.extend(tables.rows_of(f"latency: {what}", rounds[what], **units))

    def load(server, *words):
        return world.client(server, "-n", 1000, "-s", options.seconds, "-S", *words)

    cost = {"CPU µs/q": lambda each: each["cost_us"]}
    everybody = list(world.servers)
    single = {"p50 µs": lambda each: each["times"]["p50_us"], "q/s": lambda each: each["rate"]}

    def one_at_a_time(server):
        return load(server, "-c", 1, "-w", 1)

    case("one at a time", one_at_a_time, everybody, **single, **cost)
    # Started later, and stopped afterwards: it would take half of the core of the other servers.
    world.servers["polling"] = world.start("floor", transport="poll")
    case("one at a time, polling", one_at_a_time, ["polling"], **single, **cost)
    world.servers.pop("polling").stop()
    for rate in map(int, filter(None, options.rates.split(","))):
        case(
            f"{rate:,} q/s", lambda server: load(server, "-c", 8, "-r", rate), everybody,
            **{
                f"p{key.removeprefix('p') if key != 'p999' else '99.9'} µs":
                    lambda each, key=key: each["times"][f"{key}_us"]
                for key in ("p50", "p90", "p99", "p999")
            },
            **cost,
        )
    if options.lookups:
        case(
            "getaddrinfo()",
            lambda server: [
                bench.tool("lookups", "-lresolv"), "-p", str(server.port), "-n",
                str(options.lookups),
            ],
            [title for title in everybody if title != "floor"],
            **{"calls/s": lambda each: each["rate"], "p50 µs": lambda each: each["p50_us"]},
        )
    return {
        "benchmark": NAME,
        "about": "Answers from the cache over UDP, 1,000 names; the generator never sleeps.",
        "parameters": {
            key: getattr(options, key)
            for key in ("rounds", "seconds", "servers", "rates", "lookups")
        },
        "rows": rows,
        "rounds": rounds,
        "targets": [],
    }
