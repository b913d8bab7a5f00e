# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

import attacking
import faults
import harness
import judging
import report
import world
from programs import Failure

BEFORE, AFTER = 1.0, 6.0


def main(root):
    """Returns 0 if all promises were kept, 1 if not, 2 if a fault could not be run."""
    options = parser().parse_args()
    if options.attacks:
        return attack(root, options)
    known = {fault.name: fault for fault in faults.FAULTS}
    unknown = [name for name in options.faults if name not in known]
    if unknown:
        print(f"faults: there is no {', '.join(unknown)}, only {', '.join(known)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        world.enter()
        with harness.Bench(root, options) as bench:
            chosen = [known[name] for name in options.faults] or faults.FAULTS
            result = run(bench, options, chosen)
            result["machine"] = bench.machine()
    except Failure as failure:
        print(f"faults: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(report.markdown(result))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write(os.linesep)
    if options.write:
        report.write(os.path.join(root, "docs", "reliability.md"), report.markdown(result))
    broken = [
        f"{row['fault']}: {sentence}"
        for row in result["rows"] if row["server"] == "httpdnsd" for sentence in row["broken"]
    ]
    for sentence in broken:
        print(f"faults: {sentence}", file=sys.stderr)
    return 1 if broken else 0


def attack(root, options):
    known = attacking.modules(root)
    unknown = [name for name in options.faults if name not in known]
    if unknown:
        print(f"faults: unknown attack: {', '.join(unknown)}; known: {', '.join(known)}",
              file=sys.stderr)
        return 2
    try:
        with harness.Bench(root, options) as bench:
            chosen = {name: known[name] for name in options.faults} or known
            text, broken = attacking.run(root, bench, chosen, options.before)
    except Failure as failure:
        print(f"faults: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(text)
    if options.write:
        attacking.write(os.path.join(root, "docs", "reliability.md"), text)
    for sentence in broken:
        print(f"attacks: {sentence}", file=sys.stderr)
    return 1 if broken else 0


def parser():
    made = argparse.ArgumentParser(
        prog="scripts/faults",
        description="Sends queries to the release daemon at a constant rate, causes faults, and "
        "prints what clients saw as a table in Markdown; needs root for network namespaces.",
        epilog="Exits with 1 if the daemon breaks a promise, and with 2 if a fault could not be run. "
        f"Faults: {', '.join(fault.name for fault in faults.FAULTS)}.",
    )
    made.add_argument("faults", nargs="*", metavar="FAULT", help="faults to run (default all)")
    made.add_argument(
        "--attacks", action="store_true",
        help="run all or the named attacks of Tests/Faults/attacks instead of faults",
    )
    made.add_argument(
        "--before", metavar="DIR", help="with --attacks: directory of older programs for comparison"
    )
    made.add_argument("--seconds", type=float, default=4, help="duration of a fault (default 4)")
    made.add_argument("--rate", type=float, default=5000, help="queries per second (default 5000)")
    made.add_argument(
        "--servers", default=",".join(faults.ALL_SERVERS), metavar="NAME,...",
        help="DNS servers to test (default all)",
    )
    made.add_argument("--json", metavar="FILE", help="write the figures to this file")
    made.add_argument(
        "--write", action="store_true", help="write the table to docs/reliability.md"
    )
    made.add_argument(
        "--counts-only", action="store_true", help="check counts only, not times"
    )
    made.add_argument(
        "--no-build", action="store_true", help="do not build; use the programs in .build or --bin"
    )
    made.add_argument("--bin", metavar="DIR", help="directory of the programs")
    return made


def run(bench, options, chosen):
    storm = bench.path("storm")
    source = os.path.join(bench.root, "Tests", "Faults", "storm.c")
    world.run("cc", "-O2", "-o", storm, source)
    there = world.World(bench)
    wanted = options.servers.split(",")
    rows, start = [], time.monotonic()
    for fault in chosen:
        for server in (name for name in fault.servers if name in wanted):
            try:
                figure = one(bench, options, there, fault, server, storm)
            except Failure as failure:
                if server == "httpdnsd":
                    raise
                # For a peer, a crash is a result.
                figure = {"failure": str(failure).splitlines()[0]}
            broken = (
                [figure["failure"]] if "failure" in figure
                else judging.promises(fault, figure, server, options.counts_only)
            )
            rows.append({
                "fault": fault.name, "title": fault.title, "server": server, "broken": broken,
                "is_absence": fault.is_absence, "within": fault.within,
                "vendor_within": fault.vendor_within, **figure,
            })
            print(f"faults: {fault.name}, {server}: {'; '.join(broken) or 'kept'}",
                  file=sys.stderr, flush=True)
    return {
        "rows": rows, "rate": options.rate, "seconds": options.seconds,
        "minutes": (time.monotonic() - start) / 60,
    }


def one(bench, options, there, fault, title, storm):
    there.well()
    server = world.Server(there, title, fault.preload, fault.holds and title == "httpdnsd",
                          fault.scheme)
    client = None
    try:
        server.fill()
        lasts = fault.lasts or options.seconds
        file = bench.path("records")
        total = BEFORE + lasts + AFTER
        command = [storm, "-p", str(world.PORT), "-r", str(options.rate), "-s", str(total),
                   "-n", str(world.HOT), "-b", str(world.BRIEF), "-o", file]
        client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        begun = int(client.stdout.readline()) / 1e9
        wait(begun + BEFORE)
        cpu = server.program.cpu()
        span = judging.Span((time.monotonic() - begun) * 1e6, 0)
        try:
            fault.begins(server)
        except OSError as error:
            raise Failure(f"cannot be done to {title}: {error.strerror}") from None
        wait(begun + BEFORE + lasts)
        cpu = server.program.cpu() - cpu if server.program.process.poll() is None else None
        back = fault.ends(server)
        span.end = ((back or time.monotonic()) - begun) * 1e6
        unasked = int(client.communicate(timeout=total + 30)[0])
        if client.returncode != 0:
            raise Failure(f"storm: {client.returncode}")
        if server.program.process.poll() is not None:
            raise Failure(f"{title} died: {server.program.text()[-2000:]}")
        figure = judging.judged(judging.records(file), span, fault.is_absence)
        return {
            **figure, "unasked": unasked, "cpu_us": cpu, "lasted_s": (span.end - span.begin) / 1e6,
            "stats": server.stats(),
        }
    finally:
        if client and client.poll() is None:
            client.kill()
            client.wait()
        server.end()


def wait(until):
    threading.Event().wait(max(0, until - time.monotonic()))
