# SPDX-License-Identifier: Apache-2.0
"""Memory per cached answer, and memory of a small cache.

Resident memory of all processes of a server: after the start, with 200,000 answers (100,000 names, both
families), and while the names of one family grow from 1,000 to a million.
"""
import harness
import peers
import tables

NAME = "memory"
NAMES, MOST, SMALL, FLOOD = 100_000, 1_000_000, 16 << 20, 300_000

# Permitted octets above the cache size: memory of finished misses stays in the allocator.
BEYOND = 12 << 20


def add_options(parser):
    peers.add_options(parser, ["httpdnsd", "unbound", "dnsdist", "dnsmasq", "smartdns"])
    parser.add_argument(
        "--most", type=int, default=MOST, help="number of names at the end (default 1000000)"
    )
    parser.add_argument("--rounds", type=int, default=1, help="rounds, each with fresh processes (default 1)")
    parser.add_argument("--cpu", default="0", help="CPU of the server (default 0)")
    parser.add_argument("--peer-cpu", default="1", help="CPU of all other programs (default 1)")
    parser.add_argument("--free", action="store_true", help="do not pin programs to CPUs")


def run(bench, options):
    world = peers.Peers(bench, options, [])
    figures = {
        title: [one(world, title, options) for _ in range(options.rounds)]
        for title in peers.chosen(options)
    }
    bound = small(world)
    rows = [
        tables.row(f"memory: {what}", unit, {
            title: [take(each) for each in rounds] for title, rounds in figures.items()
        })
        for what, unit, take in [
            ("after the start", "MiB", lambda each: mib(each["idle"])),
            ("of that no file's pages", "MiB", lambda each: mib(each["idle_own"])),
            ("with 1,000 names", "MiB", lambda each: mib(each["thousand"])),
            (f"with {2 * NAMES:,} answers", "MiB", lambda each: mib(each["answers"])),
            (f"with {NAMES + options.most:,} answers", "MiB", lambda each: mib(each["most"])),
            ("growth an answer", "octets", lambda each: each["growth"]),
        ]
    ]
    rows.append(tables.row(
        f"memory: a cache of {SMALL >> 20} MiB after {FLOOD:,} names: growth since the start",
        "MiB",
        {"httpdnsd": mib(bound["growth"])},
    ))
    return {
        "benchmark": NAME,
        "about": "Resident memory of all processes of a server, one thread each. dnsmasq has "
        "all of its cache at the start.",
        "parameters": {key: getattr(options, key) for key in ("rounds", "servers", "most")},
        "rows": rows,
        "rounds": {"memory": figures, "bound": bound},
        "targets": [
            tables.target(
                f"the cache keeps to its size, and {BEYOND >> 20} MiB",
                bound["growth"] <= SMALL + BEYOND,
            ),
        ],
    }


def one(world, title, options):
    server = world.start(title)
    idle = server.memory()
    figure = {"idle": idle["resident"], "idle_own": idle["anonymous"]}

    def grow(key, names, *words):
        world.fill(server, names, "-a", *words)
        figure[key] = server.memory()["resident"]
        harness.say(f"{title}: {names:,} names, {figure[key] >> 20} MiB")

    grow("thousand", 1000)
    grow("names", NAMES)
    grow("answers", NAMES, "-t", peers.TYPES["AAAA"])
    grow("most", options.most)
    figure["growth"] = (figure["most"] - figure["thousand"]) / (options.most + NAMES - 1000)
    server.stop()
    return figure


def small(world):
    server = world.start("httpdnsd", size=SMALL)
    idle = server.memory()["resident"]
    world.fill(server, FLOOD, "-a")
    figure = {"idle": idle, "resident": server.memory()["resident"]}
    figure["growth"] = figure["resident"] - idle
    server.stop()
    return figure


def mib(octets):
    return octets / (1 << 20)
