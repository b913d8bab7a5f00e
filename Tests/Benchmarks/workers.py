# SPDX-License-Identifier: Apache-2.0
"""Gain from a second worker, and latency of hits during writes to the cache."""
import measuring
import peers
import tables

NAME = "workers"
SERVERS = ["httpdnsd", "floor", "unbound"]


def add_options(parser):
    measuring.add_round_options(parser)
    peers.add_options(parser, SERVERS)
    parser.add_argument("--rate", type=int, default=10_000, help="cache hits per second (default 10000)")
    parser.add_argument(
        "--fresh", type=int, default=5_000, help="new names per second (default 5000)"
    )


def run(bench, options):
    options.free = True
    world = peers.Peers(bench, options, [])
    wanted = peers.chosen(options)
    for title in wanted:
        for workers in (1, 2):
            server = world.start(title, workers=workers)
            if title != "floor":
                world.fill(server, 1000, "-a")
            world.servers[f"{title} {workers}"] = server
    rows, rounds, wrong = [], {}, 0

    def case(what, words, **units):
        nonlocal wrong

        def one(title, *_):
            server = world.servers[title]
            command = world.client(server, "-s", options.seconds, "-R", "0", "-a", *words)
            figure = measuring.watched(
                lambda: bench.run(command), server=server, authority=world.authority
            )
            figure["cost_us"] = figure["server_us"] / max(1, figure["answered"])
            return figure

        figures = measuring.in_turn(options, what, list(world.servers), one)
        rounds[what] = figures
        wrong += sum(each["wrong"] for each in sum(figures.values(), []))
        for workers, name in [(1, "one worker"), (2, "two workers")]:
            rows.extend(tables.rows_of(
                f"{name}: {what}", {title: figures[f"{title} {workers}"] for title in wanted}, **units
            ))

    case(
        "saturation", ["-c", 64],
        **{"CPU µs/q": lambda each: each["cost_us"], "q/s": lambda each: each["rate"]},
    )
    waits = {
        "p50 µs": lambda each: each["times"]["p50_us"],
        "p99 µs": lambda each: each["times"]["p99_us"],
    }
    quiet = f"{options.rate:,} hits/s"
    case(quiet, ["-c", 8, "-r", options.rate], **waits)
    case(
        f"{quiet}, {options.fresh:,} new names/s",
        ["-c", 8, "-r", options.rate + options.fresh, "-i", options.fresh],
        **waits,
    )
    return {
        "benchmark": NAME,
        "about": "One and two workers, nothing pinned, 1,000 names.",
        "parameters": {
            key: getattr(options, key) for key in ("rounds", "seconds", "servers", "rate", "fresh")
        },
        "rows": rows,
        "rounds": rounds,
        "targets": [tables.target("no answer is wrong", wrong == 0)],
    }
