# SPDX-License-Identifier: Apache-2.0
"""Gain from kernel acceleration over loopback, in a network namespace.

Needs root and Linux 6.6.
"""
import concurrent.futures
import ctypes
import os
import subprocess

import harness
import measuring
import peers
import tables

NAME = "accelerate"
SERVERS = ["accelerated", "httpdnsd", "unbound", "dnsdist", "dnsmasq"]

# Number of names; the kernel can store the answers for all of them.
NAMES = 1000


def add_options(parser):
    measuring.add_round_options(parser)
    peers.add_options(parser, SERVERS)
    parser.add_argument(
        "--rates", default="2000,20000", help="query rates per second (default 2000,20000)"
    )
    parser.add_argument(
        "--lookups", type=int, default=3000, help="calls of getaddrinfo() per round (default 3000)"
    )


def enter_namespace():
    CLONE_NEWNET = 0x40000000
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise harness.Failure(f"no namespace: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def run(bench, options):
    enter_namespace()
    world = peers.Peers(bench, options)
    everybody = list(world.servers)
    for server in world.servers.values():
        # The daemon copies an answer to the kernel only at the second hit on the cache entry.
        for _ in range(3):
            world.fill(server, NAMES, "-a")
            world.fill(server, NAMES, "-a", "-t", peers.TYPES["AAAA"])
    if "accelerated" in everybody:
        status = bench.control(world.servers["accelerated"], "status")["acceleration"]
        if status["state"] != "on":
            raise harness.Failure(f"not accelerated: {status.get('why')}")
    rows, rounds = [], {}

    def case(what, measure, **units):
        def one(title, *_):
            server = world.servers[title]
            figure = measuring.watched(
                lambda: measure(server), server=server, authority=world.authority
            )
            done = max(1, figure.get("answered", options.lookups))
            figure["cost_us"] = (figure["server_us"] + figure["client_us"]) / done
            return figure

        rounds[what] = measuring.in_turn(options, what, everybody, one)
        rows.extend(tables.rows_of(f"accelerate: {what}", rounds[what], **units))

    def load(*words, cpu=world.peer_cpu):
        seconds = ["-n", NAMES, "-s", options.seconds, "-R", 0, "-a"]
        return lambda server: bench.run(world.client(server, *seconds, *words), cpu)

    def two_askers(server):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            askers = [
                pool.submit(load("-c", 8, "-w", 32, cpu=cpu), server)
                for cpu in (world.peer_cpu, world.cpu)
            ]
            figures = [asker.result() for asker in askers]
        return {key: sum(each[key] for each in figures) for key in ("rate", "answered")}

    cost = {"CPU µs/q, both": lambda each: each["cost_us"]}
    rate = {"q/s": lambda each: each["rate"]}
    times = {
        f"{text} µs": lambda each, key=key: each["times"][key]
        for text, key in (("p50", "p50_us"), ("p99", "p99_us"), ("p99.9", "p999_us"))
    }
    case("one at a time", load("-S", "-c", 1, "-w", 1), **times, **rate)
    for each in map(int, filter(None, options.rates.split(","))):
        case(f"{each:,} q/s", load("-S", "-c", 8, "-r", each), **times)
    case("as many as there can be, one asker", load("-c", 8, "-w", 32), **rate, **cost)
    case("two busy askers", two_askers, **rate, **cost)
    if options.lookups:
        case(
            "getaddrinfo()",
            lambda server: bench.run(
                [bench.tool("lookups", "-lresolv"), "-p", str(server.port), "-n",
                 str(options.lookups)],
                world.peer_cpu,
            ),
            **{"calls/s": lambda each: each["rate"], "p50 µs": lambda each: each["p50_us"]},
            **{"CPU µs/call, both": lambda each: each["cost_us"]},
        )
    return {
        "benchmark": NAME,
        "about": f"Answers over loopback in a network namespace of their own, {NAMES:,} names.",
        "parameters": {
            key: getattr(options, key)
            for key in ("rounds", "seconds", "servers", "rates", "lookups")
        },
        "rows": rows,
        "rounds": rounds,
        "targets": [],
    }
