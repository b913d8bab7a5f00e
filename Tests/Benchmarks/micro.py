# SPDX-License-Identifier: Apache-2.0
"""Cost of single operations: time, instructions in user space, allocations.

Each operation runs twice with different counts, and the difference excludes the initialization. callgrind also
counts the daemon's instructions in all threads.

`--check` compares instruction counts with `instructions.json` and fails if a count differs by more than 2 % (8 %
for a miss, 3 % for the start), or if the hot path allocates; `--update` writes that file.
"""
import glob
import json
import os
import re
import subprocess

import harness
import measuring
import peers
import tables

NAME = "micro"

START = "daemon, start"

# Permitted relative differences; the counts of misses and of the start vary with the timing of threads.
TOLERANCE, TOLERANCES = 0.02, {"daemon, misses one at a time": 0.08, START: 0.03}

HOT = ["parse", "parse-edns", "miss", "hit", "hit-edns", "hit-many", "patch"]
OPERATIONS = [*HOT, "build", "read", "decompress", "store"]

# Too slow under callgrind.
UNCOUNTED = ["hit-many"]

HIT, MISS = ["-n", "100", "-s", "4"], ["-1", "-n", "4000", "-s", "60", "-x", ".miss.example"]
DAEMON = {
    "daemon, hits one at a time": ([*HIT, "-w", "1"], [*HIT, "-w", "1"]),
    "daemon, hits in batches": ([*HIT, "-w", "32"], [*HIT, "-w", "32"]),
    "daemon, misses one at a time": (
        [*MISS, "-w", "1", "-n", "500", "-k", "warm"], [*MISS, "-w", "1", "-k", "cold"],
    ),
}

COUNTS = (3200, 12_800)


def add_options(parser):
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the time measurement (default 5)")
    measuring.add_quiet_options(parser)
    parser.add_argument("--cpu", default="0", help="CPU of all programs (default 0)")
    parser.add_argument(
        "--operations",
        default=",".join(OPERATIONS),
        metavar="NAME,...",
        help=f"operations to measure (default {','.join(OPERATIONS)})",
    )
    parser.add_argument("--no-times", action="store_true", help="count instructions only")
    parser.add_argument("--no-daemon", action="store_true", help="do not measure the daemon")
    parser.add_argument("--check", action="store_true", help="fail if a number of instructions has changed")
    parser.add_argument("--update", action="store_true", help="write the numbers of instructions to instructions.json")


def run(bench, options):
    program = plain(bench, bench.micro())
    operations = [name for name in options.operations.split(",") if name]
    instructions, allocations = {}, {}
    for name in operations:
        allocations[name] = difference(lambda count: mallocs(bench, program, name, count))
        if name not in UNCOUNTED:
            instructions[name] = difference(lambda count: callgrind(program, name, count))
        harness.say(f"{name}: {instructions.get(name, '?')} instructions, "
                    f"{allocations[name]:g} allocations")
    times = {} if options.no_times else in_time(bench, options, program, operations)
    if not options.no_daemon:
        instructions.update(daemon(bench))

    committed = read(bench)
    result = {
        "benchmark": NAME,
        "parameters": {"rounds": options.rounds, "operations": operations},
        "instructions": instructions,
        "allocations": allocations,
        "times": times,
        "committed": committed["instructions"],
        "rows": [
            *[tables.row(f"micro: {name}", "instructions", {"httpdnsd": value})
              for name, value in instructions.items()],
            *[line for name, rounds in times.items()
              for line in tables.rows_of(f"micro: {name}", {"httpdnsd": rounds}, ns=lambda each: each["ns"])],
        ],
        "targets": [
            tables.target(f"{name} allocates nothing", allocations[name] == 0)
            for name in operations if name in HOT
        ],
    }
    if options.check:
        for name, value in instructions.items():
            old = committed["instructions"].get(name)
            result["targets"].append(tables.target(
                f"{name}: {value:,.0f} instructions, as in instructions.json "
                f"({'none' if old is None else f'{old:,.0f}'})",
                old is not None and abs(value - old) <= old * TOLERANCES.get(name, TOLERANCE),
            ))
    if options.update:
        known = {**committed["instructions"], **instructions}
        names = [*OPERATIONS, START, *DAEMON]
        write(bench, {name: known[name] for name in names if name in known})
    return result


def difference(measure):
    few, many = (measure(count) for count in COUNTS)
    return round((many - few) / (COUNTS[1] - COUNTS[0]), 1)


def plain(bench, program):
    """Returns a copy of a program without line tables, which Valgrind 3.19 cannot read."""
    made = bench.path(os.path.basename(program))
    subprocess.run(["strip", "--strip-debug", "-o", made, program], check=True)
    return made


def callgrind(program, name, count):
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, str(count)],
        capture_output=True,
        text=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise harness.Failure(f"callgrind: {done.stdout}{done.stderr}")
    return int(found[1])


def mallocs(bench, program, name, count):
    library = bench.tool("mallocs", "-shared", "-fPIC")
    file = bench.path("mallocs.txt")
    subprocess.run(
        [program, name, str(count)],
        env={**os.environ, "LD_PRELOAD": library, "MALLOCS": file},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    with open(file, encoding="ascii") as counted:
        return int(counted.read())


def in_time(bench, options, program, operations):
    def one(name, *_):
        guess = bench.run([program, name, "20000"], options.cpu)["ns"]
        count = max(20_000, int(3e8 / guess))
        return measuring.watched(lambda: bench.run([program, name, str(count)], options.cpu))

    return measuring.in_turn(options, NAME, operations, one)


def daemon(bench):
    upstream = peers.nsd(bench)
    program = plain(bench, bench.product("httpdnsd"))
    file = bench.path("callgrind.out")
    server = bench.daemon(
        peers.daemon_settings(upstream.port, size=64 << 20),
        program=["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", program],
    )
    load = [bench.tool("load"), "-p", str(server.port), "-c", "1", "-R", "0", "-a"]

    def control(verb):
        done = subprocess.run(
            ["callgrind_control", verb, str(server.process.pid)], capture_output=True, text=True
        )
        if done.returncode != 0 or "OK" not in done.stdout:
            raise harness.Failure(f"callgrind_control {verb}: {done.stdout}{done.stderr}")

    def counted(part):
        total = 0
        for dump in glob.glob(f"{file}.{part}*"):
            with open(dump, encoding="ascii", errors="replace") as text:
                total += sum(map(int, re.findall(r"^totals: (\d+)", text.read(), re.MULTILINE)))
        return total

    bench.run([*load, "-1", "-n", "1", "-w", "1", "-s", "60"])
    control("--dump")
    figures = {START: counted(1)}
    harness.say(f"{START}: {figures[START]:,} instructions")
    bench.run([*load, "-1", *HIT, "-w", "1", "-s", "60"])
    for part, (what, (warm, measured)) in enumerate(DAEMON.items(), 2):
        # The first run does the one-time work, which the counts must not include.
        bench.run([*load, *warm])
        control("--zero")
        figure = bench.run([*load, *measured])
        control("--dump")
        figures[what] = round(counted(part) / figure["answered"], 1)
        harness.say(f"{what}: {figures[what]} instructions, {figure['answered']} answers")
    server.stop()
    return figures


def path(bench):
    return os.path.join(bench.root, "Tests", "Benchmarks", "instructions.json")


def read(bench):
    try:
        with open(path(bench), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"instructions": {}}


def write(bench, instructions):
    machine = bench.machine()
    kept = {
        "measured with": {
            "swift": machine["versions"]["swift"],
            "system": machine["versions"]["system"],
            "valgrind": machine["versions"]["valgrind"],
        },
        "instructions": instructions,
    }
    with open(path(bench), "w", encoding="utf-8") as file:
        json.dump(kept, file, indent=4)
        file.write(os.linesep)


def markdown(result):
    rows = []
    for name in dict.fromkeys([*result["parameters"]["operations"], *result["instructions"]]):
        value, old = result["instructions"].get(name), result["committed"].get(name)
        rounds = result["times"].get(name, [])
        rows.append([
            name,
            tables.cell([each["ns"] for each in rounds]),
            "–" if value is None else f"{value:,.0f}",
            "–" if value is None or not old else f"{value / old - 1:+.1%}",
            "–" if name not in result["allocations"] else f"{result['allocations'][name]:g}",
        ])
    return "\n\n".join([
        f"One operation; instructions in user space.\n{tables.place(result['machine'])}",
        tables.table(["", "ns", "instructions", "to those committed", "allocations"], rows),
        tables.weather(result["rows"]),
    ])
