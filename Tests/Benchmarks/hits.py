# SPDX-License-Identifier: Apache-2.0
"""Cost of an answer from the cache over UDP, at saturation.

The C floor returns every query.
"""
import measuring
import peers
import tables

NAME = "hits"
SIZES = [1_000, 100_000, 1_000_000]

# Limit of the authority's processor time per query, in µs; above it, the measured server does not answer from its cache.
ASKING = 0.2

# For each case: arguments of `load`, and True if the case also measures the C floor.
VARIANTS = {
    "A with EDNS": (["-e", "-R", "0", "-a"], True),
    "AAAA": (["-t", peers.TYPES["AAAA"], "-R", "0", "-a"], False),
    "TXT": (["-t", peers.TYPES["TXT"], "-R", "0", "-a"], False),
    "MX": (["-t", peers.TYPES["MX"], "-R", "0", "-a"], False),
    "NXDOMAIN": (["-x", ".none.example", "-R", "3"], False),
    "NODATA": (["-t", peers.TYPES["SRV"], "-R", "0"], False),
}


def add_options(parser):
    measuring.add_round_options(parser)
    peers.add_options(parser)
    parser.add_argument(
        "--names",
        default=",".join(map(str, SIZES)),
        help="numbers of names (default 1000,100000,1000000)",
    )
    parser.add_argument(
        "--variants",
        default=",".join(VARIANTS),
        help="further query types, with 1000 names (default all)",
    )


def run(bench, options):
    world = peers.Peers(bench, options)
    rows, rounds, wrong, asking = [], {}, 0, []

    def case(what, names, words, servers):
        nonlocal wrong
        for title in servers:
            if title != "floor":
                world.fill(world.servers[title], names, *words)
        figures = measuring.in_turn(
            options, what, servers, lambda title, *_: one(bench, world, title, options, names, words)
        )
        rounds[what] = figures
        rows.extend(tables.rows_of(
            what,
            figures,
            **{"CPU µs/q": lambda each: each["cost_us"], "q/s": lambda each: each["rate"]},
        ))
        wrong += sum(each["wrong"] for each in figures.get("httpdnsd", []))
        # A server that still queries the authority cannot cache so many names, or does not cache these answers.
        asking.extend(
            f"{title} ({what})" for title, each in figures.items()
            if tables.median(each, "behind_us") > ASKING
        )

    everybody = list(world.servers)
    for name in filter(None, options.variants.split(",")):
        words, suits_floor = VARIANTS[name]
        case(
            f"UDP hit, {name}", 1000, words,
            [title for title in everybody if title != "floor" or suits_floor],
        )
    for names in map(int, filter(None, options.names.split(","))):
        case(f"UDP hit, A, {names:,} names", names, ["-R", "0", "-a"], everybody)
    return {
        "benchmark": NAME,
        "about": "Answers from the cache over UDP at saturation, 192 queries on their way."
        + (f" Not from the cache but asked for again: {', '.join(asking)}." if asking else ""),
        "asking": asking,
        "parameters": {key: getattr(options, key) for key in ("rounds", "seconds", "servers")},
        "rows": rows,
        "rounds": rounds,
        "targets": [
            tables.target("no answer of the daemon is wrong", wrong == 0),
            *tables.cheaper("less processor time than every peer", rows),
        ],
    }


def one(bench, world, title, options, names, words):
    server = world.servers[title]
    command = world.client(server, "-n", names, "-s", options.seconds, *words)
    figure = measuring.watched(
        lambda: bench.run(command, world.peer_cpu), server=server, authority=world.authority
    )
    figure["cost_us"] = figure["server_us"] / max(1, figure["answered"])
    figure["behind_us"] = figure["authority_us"] / max(1, figure["answered"])
    return figure
