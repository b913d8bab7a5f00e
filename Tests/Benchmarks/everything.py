# SPDX-License-Identifier: Apache-2.0
"""Runs all benchmarks and writes their figures to one table.

If a benchmark fails, the table does not contain it, and the exit status is 2.
"""
import argparse
import time

import harness
import tables

SHORTER = {
    "hits": ["--rounds", "3"],
    "latency": ["--rounds", "3"],
    "accelerate": ["--rounds", "3"],
    "tcp": ["--rounds", "3"],
    "workers": ["--rounds", "3"],
    "forward": ["--rounds", "3"],
    "doh": ["--rounds", "3", "--names", "10000"],
    "vendor-misses": ["--rounds", "3"],
    "fail-over": ["--rounds", "1"],
    "bill": ["--hour", "1"],
    "memory": ["--servers", "httpdnsd,unbound,dnsdist"],
    "start": ["--rounds", "3"],
    "micro": ["--rounds", "3", "--check"],
}

HANDED_ON = ["rounds", "seconds", "quiet", "repeat", "cpu", "peer_cpu", "free"]


def add_options(parser, modules):
    names = ",".join(module.NAME for module in modules)
    parser.add_argument("--only", default=names, metavar="NAME,...", help=f"benchmarks to run (default {names})")
    parser.add_argument("--rounds", type=int, help="rounds of each benchmark (default 3 for most)")
    parser.add_argument("--seconds", type=float, help="duration of a round (default 1)")
    parser.add_argument("--quiet", type=float, help="see the single benchmarks (default 0.15)")
    parser.add_argument("--repeat", type=int, default=2, help="see the single benchmarks (default 2)")
    parser.add_argument("--cpu", help="see the single benchmarks (default 0)")
    parser.add_argument("--peer-cpu", help="see the single benchmarks (default 1)")
    parser.add_argument("--free", action="store_true", default=None, help="do not pin programs to CPUs")


def run(root, options, modules):
    results, failed, start = [], [], time.monotonic()
    wanted = options.only.split(",")
    for module in modules:
        if module.NAME not in wanted:
            continue
        own = argparse.ArgumentParser()
        module.add_options(own)
        chosen = own.parse_args(SHORTER.get(module.NAME, []))
        for key in HANDED_ON:
            if getattr(options, key) is not None and hasattr(chosen, key):
                setattr(chosen, key, getattr(options, key))
        chosen.bin, chosen.no_build = options.bin, options.no_build
        harness.say(f"{module.NAME}, after {(time.monotonic() - start) / 60:.1f} minutes")
        try:
            with harness.Bench(root, chosen, is_built=bool(results)) as bench:
                result = module.run(bench, chosen)
                result["machine"] = bench.machine()
        except harness.Failure as failure:
            harness.say(f"{module.NAME}: {failure}")
            failed.append(module.NAME)
            continue
        results.append(result)
    return {
        "benchmark": "all",
        "minutes": (time.monotonic() - start) / 60,
        "failed": failed,
        "results": results,
        "targets": [target for result in results for target in result["targets"]],
    }


def markdown(result):
    if not result["results"]:
        return "Nothing was measured."
    rows = [line for each in result["results"] for line in each["rows"]]
    asking = [server for each in result["results"] for server in each.get("asking", [])]
    return "\n\n".join([
        f"Medians, and what a round differed from them at most; {result['minutes']:.0f} minutes."
        f"\n{tables.place(result['results'][-1]['machine'])}",
        tables.rows_table(rows),
        tables.weather(rows)
        + (f" Not from the cache but asked for again: {', '.join(asking)}." if asking else ""),
    ])
