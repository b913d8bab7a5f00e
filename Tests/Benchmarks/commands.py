# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import signal
import sys

import accelerate
import bill
import doh
import engine
import everything
import fail_over
import families
import forward
import harness
import hits
import latency
import memory
import micro
import nat64
import silent
import start
import tables
import tcp
import vendor_misses
import vpn
import workers

COMMANDS = [
    hits, latency, accelerate, tcp, workers, forward, doh, vendor_misses, fail_over, silent, bill, families,
    engine, vpn, nat64, memory, start, micro,
]


def main(root):
    """Runs a command; returns 0 if its targets are met, 1 if not, 2 if it could not be run."""
    arguments = ["all" if word == "--all" else word for word in sys.argv[1:]]
    options = parser().parse_args(arguments)

    # SIGTERM raises SystemExit, so that the program ends its child processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.module is everything:
            result = everything.run(root, options, COMMANDS)
        else:
            with harness.Bench(root, options) as bench:
                result = options.module.run(bench, options)
                result["machine"] = bench.machine()
    except harness.Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(getattr(options.module, "markdown", tables.markdown)(result))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write(os.linesep)
    missed = [target for target in result["targets"] if not target["met"]]
    for target in missed:
        print(f"bench: missed: {target['what']}", file=sys.stderr)
    if result.get("failed"):
        print(f"bench: not measured: {', '.join(result['failed'])}", file=sys.stderr)
        return 2
    return 1 if missed else 0


def parser():
    made = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Compares the release build with other DNS servers on loopback, and prints "
        "a table in Markdown.",
        epilog="Exits with 1 if a target is missed, and with 2 if a measurement failed.",
    )
    subparsers = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in [*[(each.NAME, each) for each in COMMANDS], ("all", everything)]:
        command = subparsers.add_parser(
            name,
            help=module.__doc__.strip().splitlines()[0],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if module is everything:
            module.add_options(command, COMMANDS)
        else:
            module.add_options(command)
        command.add_argument("--json", metavar="FILE", help="write all figures to this file")
        command.add_argument(
            "--no-build",
            action="store_true",
            help="do not build; use the programs in .build or --bin",
        )
        command.add_argument("--bin", metavar="DIR", help="directory of the programs")
        command.set_defaults(module=module)
    return made
