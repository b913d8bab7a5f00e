# SPDX-License-Identifier: Apache-2.0
"""Measures servers in turn, and repeats a measurement if other processes used the machine."""
import os
import resource
import time

from harness import say


def busy():
    with open("/proc/stat", encoding="ascii") as file:
        words = list(map(int, file.readline().split()[1:9]))
    return sum(words[index] for index in (0, 1, 2, 5, 6, 7)) * 1e6 / os.sysconf("SC_CLK_TCK")


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1e6


def watched(body, **programs):
    def cpu():
        return {name: program.cpu() if program else 0 for name, program in programs.items()}

    before, whole, usage, start = cpu(), busy(), children(), time.monotonic()
    figure = body()
    elapsed, clients = time.monotonic() - start, children() - usage
    whole = busy() - whole
    used = {f"{name}_us": now - before[name] for name, now in cpu().items()}
    strangers = max(0, whole - clients - sum(used.values())) / (elapsed * 1e6)
    return {**figure, **used, "client_us": clients, "strangers": strangers}


def quietest(options, attempt):
    """Calls `attempt(number)` until other processes use little time; returns the best figures."""
    figures = []
    for number in range(options.repeat + 1):
        figures.append(attempt(number))
        if figures[-1]["strangers"] <= options.quiet:
            break
    return min(figures, key=lambda each: each["strangers"])


def in_turn(options, what, titles, measure):
    figures = {title: [] for title in titles}
    for number in range(options.rounds):
        for title in titles:
            figures[title].append(quietest(options, lambda attempt: measure(title, number, attempt)))
        say(f"{what}: round {number + 1} of {options.rounds}")
    return figures


def add_round_options(parser, rounds=5, seconds=1.0):
    parser.add_argument(
        "--rounds", type=int, default=rounds, help=f"rounds (default {rounds})"
    )
    parser.add_argument(
        "--seconds", type=float, default=seconds, help=f"duration of a round (default {seconds:g})"
    )
    add_quiet_options(parser)
    parser.add_argument("--cpu", default="0", help="CPU of the server (default 0)")
    parser.add_argument(
        "--peer-cpu", default="1", help="CPU of the client and the upstreams (default 1)"
    )
    parser.add_argument("--free", action="store_true", help="do not pin programs to CPUs")


def add_quiet_options(parser):
    parser.add_argument(
        "--quiet",
        type=float,
        default=0.15,
        help="repeat a round if other processes use more of a core (default 0.15)",
    )
    parser.add_argument("--repeat", type=int, default=3, help="maximum repetitions of a round (default 3)")


def processors(options):
    if options.free or os.cpu_count() < 2:
        return None, None
    return options.cpu, options.peer_cpu
