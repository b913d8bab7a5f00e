# SPDX-License-Identifier: Apache-2.0
"""A long run under a steady load that detects growth."""
import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time

import harness
import report
import tables
import world
from programs import Failure

BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"

LOADS = {"kept": (1500, 5000), "churning": (500, 95000)}

SETTINGS = """
listen: ["127.0.0.1:53"]
control: {{socket: {control}, mode: "0600"}}
vendors:
  dead: {{kind: tencent, channel: aes, id: 12345, key: {{file: {key}}}, servers: ["192.0.2.2:81"]}}
  well: {{kind: tencent, channel: aes, id: 12345, key: {{file: {key}}}, servers: [192.0.2.1]}}
routes: [{{domains: [vendor.example], vendors: [dead, well]}}]
upstreams: [{{name: upstream, url: "udp://192.0.2.1"}}]
hosts: {{files: []}}
cache: {{size: 16MiB, snapshot: {snapshot}}}
"""

SERIES = {
    "rss_mib": ("resident memory", "MiB"),
    "descriptors": ("descriptors", ""),
    "threads": ("threads", ""),
    "in_flight": ("misses in flight", ""),
    "kept_p99_us": ("p99 of cached names", "µs"),
    "churning_p50_us": ("p50 of the other names", "µs"),
    "cpu_percent": ("processor time", "% of a core"),
}


class Soaked(world.Server):
    def _httpdnsd(self):
        file = self._write("httpdnsd.yaml", SETTINGS.format(
            control=self.control, key=self.world.key, snapshot=self.snapshot
        ))
        return [self.bench.product("httpdnsd"), "--config", file]


def main(root):
    """Returns 0 on success, 1 if a query was lost or wrong, 2 if it could not be run."""
    made = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    made.add_argument("--minutes", type=float, default=60, help="duration (default 60)")
    made.add_argument("--slice", type=float, default=10, help="seconds per sample (default 10)")
    made.add_argument("--json", metavar="FILE", help="write each sample to this file")
    made.add_argument(
        "--from", dest="source", metavar="FILE", help="do not run; use the samples of this file (--json)"
    )
    made.add_argument(
        "--write", action="store_true", help="write plots and slopes to docs/ (needs matplotlib)"
    )
    made.add_argument("--no-build", action="store_true", help="do not build")
    made.add_argument("--bin", metavar="DIR", help="directory of the programs")
    options = made.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.source:
            with open(options.source, encoding="utf-8") as file:
                result = json.load(file)
        else:
            world.enter()
            with harness.Bench(root, options) as bench:
                result = soak(bench, options)
    except Failure as failure:
        print(f"soak: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(markdown(result))
    if options.write:
        report.write(os.path.join(root, "docs", "reliability.md"), markdown(result), BEGIN, END)
        plot(result, os.path.join(root, "docs", "soak"))
    return 1 if result["lost"] or result["wrong"] else 0


def soak(bench, options):
    there = world.World(bench, extra_zone="*.vendor.example 300 A 11.18.0.1\n")
    bench.start([*there.far, sys.executable, "-c", DEAD], "ready")
    server = Soaked(there, "httpdnsd")
    machine, samples, start = bench.machine(), [], time.monotonic()
    result = {"samples": samples, "machine": machine, "slice": options.slice}
    while time.monotonic() < start + options.minutes * 60:
        samples.append(sample(bench, server, options.slice, start, len(samples)))
        result["lost"] = sum(each["lost"] for each in samples[1:])
        result["wrong"] = sum(each["wrong"] for each in samples[1:])
        if options.json:
            with open(options.json + ".new", "w", encoding="utf-8") as file:
                json.dump(result, file)
            os.replace(options.json + ".new", options.json)
    server.end()
    return result


DEAD = """
import signal, socket
made = [socket.create_server(("192.0.2.2", 81), backlog=1024)]
print("ready", flush=True)
while True:
    made.append(made[0].accept()[0])
    if len(made) > 100:
        made.pop(1).close()
"""


def sample(bench, server, seconds, start, number):
    cpu, begun = server.program.cpu(), time.monotonic()
    clients = {
        name: subprocess.Popen(
            [bench.tool("load"), "-p", str(world.PORT), "-s", str(seconds), "-r", str(rate),
             "-n", str(names), "-k", name, "-x", ".vendor.example", "-c", "4", "-R", "0", "-a",
             "-b", str(int(number * seconds * rate))],
            stdout=subprocess.PIPE, text=True,
        )
        for name, (rate, names) in LOADS.items()
    }
    told = {name: json.loads(client.communicate(timeout=seconds + 30)[0])
            for name, client in clients.items()}
    cpu = (server.program.cpu() - cpu) / (time.monotonic() - begun) / 1e4
    stats = server.stats()
    process = stats["process"]
    return {
        "minute": (time.monotonic() - start) / 60,
        "asked": sum(each["asked"] for each in told.values()),
        "lost": sum(each["lost"] for each in told.values()),
        "wrong": sum(each["wrong"] for each in told.values()),
        "rss_mib": process["rss-octets"] / (1 << 20),
        "descriptors": process["descriptors"],
        "threads": process["threads"],
        "in_flight": stats["misses"]["in-flight"],
        "cpu_percent": cpu,
        "entries": stats["cache"]["entries"],
        "evictions": stats["cache"]["evictions"],
        "hits": stats["cache"]["hits"],
        "misses": stats["cache"]["misses"],
        **{f"{name}_{part}_us": each["times"][f"{part}_us"]
           for name, each in told.items() for part in ("p50", "p99", "p999")},
    }


def settled(samples):
    first = min(10, samples[-1]["minute"] / 6)
    return [each for each in samples if each["minute"] >= first]


def slope(samples, key):
    """Returns the slope per hour by least squares, and its 95 % confidence interval."""
    times = [each["minute"] / 60 for each in samples]
    values = [each[key] for each in samples]
    middle, mean = statistics.fmean(times), statistics.fmean(values)
    spread = sum((time - middle) ** 2 for time in times)
    rise = sum((t - middle) * (v - mean) for t, v in zip(times, values)) / spread
    rest = [v - mean - rise * (t - middle) for t, v in zip(times, values)]
    square = sum(each ** 2 for each in rest)
    alike = sum(a * b for a, b in zip(rest, rest[1:])) / square if square else 0
    alike = min(max(alike, 0), 0.99)
    count = max(3, len(rest) * (1 - alike) / (1 + alike))
    error = math.sqrt(square / len(rest) / max(count - 2, 1) / (spread / len(rest)))
    return rise, student(count - 2) * error


def student(freedom):
    """Approximation in Abramowitz 26.7.5."""
    z = 1.96
    first, second = (z ** 3 + z) / 4, (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96
    return z + first / freedom + second / freedom ** 2


def markdown(result):
    samples = result["samples"]
    after = settled(samples)
    rows = []
    for key, (title, unit) in SERIES.items():
        values = [each[key] for each in after]
        rise, error = slope(after, key)
        rows.append([
            title, unit, f"{min(values):.1f}", f"{statistics.median(values):.1f}",
            f"{max(values):.1f}", f"{rise:+.2f} ± {error:.2f}",
            "yes" if abs(rise) <= error else f"{rise / max(statistics.fmean(values), 1e-9):+.1%}/h",
        ])
    last = samples[-1]
    return "\n\n".join([
        f"{last['minute']:.0f} minutes, {sum(each['asked'] for each in samples):,} queries, "
        f"{result['lost']:,} lost, {result['wrong']:,} replies without an address, "
        f"{last['evictions']:,} cache entries evicted. "
        f"{tables.place(result['machine'], ('swift',))}",
        tables.table(
            ["", "unit", "minimum", "median", "maximum", "slope per hour, 95 % interval", "flat"], rows
        ),
    ])


def plot(result, directory):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    os.makedirs(directory, exist_ok=True)
    samples = result["samples"]
    minutes = [each["minute"] for each in samples]
    for name, keys in {
        "memory": ["rss_mib"],
        "descriptors": ["descriptors", "threads", "in_flight"],
        "latency": ["kept_p50_us", "kept_p99_us", "churning_p50_us", "churning_p99_us"],
        "processor": ["cpu_percent"],
    }.items():
        figure, axes = pyplot.subplots(figsize=(8, 3), layout="constrained")
        for key in keys:
            title, unit = SERIES.get(key, (key.removesuffix("_us").replace("_", ", "), "µs"))
            axes.plot(minutes, [each[key] for each in samples], linewidth=0.9, label=title)
        axes.set_xlabel("minutes")
        axes.set_ylabel(unit)
        if name == "latency":
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(loc="best", fontsize="small")
        figure.savefig(os.path.join(directory, f"{name}.png"), dpi=100, metadata={"Software": None})
        pyplot.close(figure)
