# SPDX-License-Identifier: Apache-2.0
"""Effects on clients when servers of a vendor fail and recover.

A vendor has three servers: the first is silent, the second refuses connections, the third is healthy.
"""
import subprocess
import time

import harness
import tables

NAME = "fail-over"

SERVERS = [11, 12, 13]


def add_options(parser):
    parser.add_argument("--names", type=int, default=1_000, help="names to query while servers are dead (default 1000)")
    parser.add_argument("--rate", type=float, default=100, help="names per second (default 100)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with fresh processes (default 3)")
    parser.add_argument(
        "--return-after",
        type=float,
        default=5,
        help="setting return-to-primary-after in seconds (default 5)",
    )
    parser.add_argument("--hedge-after", default=None, help="setting hedge-after, such as 300ms")
    parser.add_argument("--timeout", default=None, help="setting timeout, such as 2s")
    parser.add_argument("--batch", action="store_true", help="use a vendor with batches of names")


def run(bench, options):
    rounds = [one_round(bench, options, number) for number in range(options.rounds)]
    result = {
        "benchmark": NAME,
        "parameters": {
            key: getattr(options, key)
            for key in ("names", "rate", "rounds", "return_after", "hedge_after", "timeout", "batch")
        },
        "rounds": rounds,
    }
    result["rows"] = [
        tables.row(
            f"fail-over: {what}", "ms", {"httpdnsd": [each[phase][key] for each in rounds]}
        )
        for what, phase, key in [
            ("p50 with dead servers", "dead", "p50_ms"),
            ("p99 with dead servers", "dead", "p99_ms"),
            ("p99 after their return", "back", "p99_ms"),
        ]
    ]
    worst = max(each["dead"]["p99_ms"] for each in rounds)
    failures = sum(each[phase]["unanswered"] for each in rounds for phase in ("dead", "back"))
    slowest = max((each["returned_s"] for each in rounds), key=lambda time: time or 1e9)
    bound = options.return_after + 2
    result["targets"] = [
        tables.target("no name without an address", failures == 0),
        tables.target("99 of 100 names within 700 ms while servers are dead", worst < 700),
        tables.target(
            "the first server is asked again within return-to-primary-after and 2 s",
            slowest is not None and slowest <= bound,
        ),
    ]
    return result


def one_round(bench, options, number):
    port = harness.free_port()
    addresses = [f"127.0.0.{server}:{port}" for server in SERVERS]
    zones = [f"*.example.com 600 A 192.0.2.{server}\n" for server in SERVERS]
    silent = bench.emulator(addresses[0], zones[0], ["silent"])
    good = bench.emulator(addresses[2], zones[2])
    key = bench.write("key", "1234567890123456\n", 0o600)
    token = bench.write("baidu", "1234567890\n", 0o600)
    kind = (
        f"kind: tencent, channel: aes, id: 12345, key: {{file: {key}}}"
        if options.batch
        # A call to Baidu has only one name.
        else f"kind: baidu, account: 107080, secret: {{file: {token}}}, scheme: http"
    )
    more = "".join(
        f", {name}: {value}"
        for name, value in [("hedge-after", options.hedge_after), ("timeout", options.timeout)]
        if value
    )
    listed = ", ".join(f'"{address}"' for address in addresses)
    daemon = bench.daemon(f"""
vendors:
  vendor: {{{kind}, servers: [{listed}],
           return-to-primary-after: {options.return_after:g}s{more}}}
routes: [{{domains: [example.com], vendors: [vendor], fallback: none}}]
upstreams: []
""")
    client = [bench.tool("misses"), "-p", str(daemon.port), "-r", str(options.rate)]
    dead = bench.run([
        *client, "-n", str(options.names), "-k", "dead", "-o", bench.path("dead.txt"),
    ])

    second = bench.emulator(addresses[1], zones[1])
    clear(bench, silent)
    came_back = time.monotonic()
    seconds = options.return_after * 2 + 4
    back = bench.run([
        *client, "-n", str(int(seconds * options.rate)), "-k", "back",
        "-o", bench.path("back.txt"),
    ])
    offset = time.monotonic() - back["seconds"] - came_back
    status = bench.control(daemon, "stats")["vendors"][0]
    for program in (daemon, silent, good, second):
        program.stop()

    answers = lines(bench.path("back.txt"))
    by_first = [line for line in answers if line["octet"] == SERVERS[0]]
    by_others = [line for line in answers if line["octet"] in SERVERS[1:]]
    first = min((line["due_s"] + line["took_s"] for line in by_first), default=None)
    last = max((line["due_s"] + line["took_s"] for line in by_others), default=0)
    phases = lines(bench.path("dead.txt"))
    # Later, a probe of the first server can delay one name.
    switched = next(
        (
            line["due_s"] for index, line in enumerate(phases)
            if all(each["took_s"] < 0.1 for each in phases[index:index + 50])
        ),
        None,
    )
    figure = {
        "dead": summary(dead),
        "back": summary(back),
        "switched_s": switched,
        "returned_s": None if first is None else offset + first,
        "last_by_others_s": offset + last,
        "by_first": len(by_first),
        "vendor": status,
    }
    harness.say(
        f"round {number + 1}: p50 {figure['dead']['p50_ms']:.1f}, "
        f"p99 {figure['dead']['p99_ms']:.0f}, max {figure['dead']['max_ms']:.0f} ms, "
        f"{figure['dead']['unanswered']} unanswered; back after {figure['returned_s']} s"
    )
    return figure


def summary(figure):
    return {
        "asked": figure["asked"],
        "unanswered": figure["lost"] + figure["failed"] + figure["empty"],
        **{f"{key}_ms": figure[f"{key}_us"] / 1e3 for key in ("p50", "p90", "p99", "max")},
    }


def lines(path):
    with open(path, encoding="ascii") as file:
        rows = [line.split() for line in file]
    return [
        {
            "due_s": float(due) / 1e6,
            "took_s": float(took) / 1e6,
            "rcode": int(rcode),
            "octet": int(octet),
        }
        for due, took, rcode, octet in rows
    ]


def clear(bench, emulator):
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "10",
         "--header", "Content-Type: text/plain", "--data-binary", "",
         f"http://{emulator.address}/_emulator/faults"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise harness.Failure(done.stderr)


def markdown(result):
    def seconds(value):
        return "never" if value is None else f"{value:.1f}"

    rows = []
    for number, each in enumerate(result["rounds"]):
        dead, back = each["dead"], each["back"]
        rows.append([
            number + 1,
            f"{dead['p50_ms']:.1f} / {dead['p99_ms']:.0f} / {dead['max_ms']:.0f}",
            dead["unanswered"],
            seconds(each["switched_s"]),
            seconds(each["returned_s"]),
            seconds(each["last_by_others_s"]),
            f"{back['p50_ms']:.1f} / {back['p99_ms']:.0f} / {back['max_ms']:.0f}",
            back["unanswered"],
        ])
    parameters = result["parameters"]
    return "\n\n".join([
        f"Three servers: silent, refusing, good. {parameters['names']:,} names at "
        f"{parameters['rate']:g} a second; return-to-primary-after "
        f"{parameters['return_after']:g} s, hedge-after {parameters['hedge_after'] or '300 ms'}.\n"
        f"{tables.place(result['machine'])}",
        tables.table(
            ["round", "dead: p50 / p99 / max ms", "unanswered", "switched after s",
             "back: first answer by the first after s", "last by others after s",
             "back: p50 / p99 / max ms", "unanswered"],
            rows,
        ),
    ])
