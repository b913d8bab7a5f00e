# SPDX-License-Identifier: Apache-2.0
"""Delay of new names while the only vendor is silent.

The fallback of the route is an upstream over plain UDP. Uncached names are queried at a fixed rate, in three
cases: a silent vendor with `fallback-after`, a silent vendor without `fallback-after`, and a vendor that answers.
"""
import harness
import tables

NAME = "silent-vendor"

CASES = [
    ("silent vendor, fallback-after: 400ms", "400ms", True),
    ("silent vendor, fallback-after: off", "off", True),
    ("vendor that answers, fallback-after: 400ms", "400ms", False),
]


def add_options(parser):
    parser.add_argument("--names", type=int, default=4_000, help="names to query in each case (default 4000)")
    parser.add_argument("--rate", type=float, default=100, help="names per second (default 100)")


def run(bench, options):
    cases = [one_case(bench, options, *case) for case in CASES]
    early, _, healthy = cases
    return {
        "benchmark": NAME,
        "parameters": {key: getattr(options, key) for key in ("names", "rate")},
        "cases": cases,
        "rows": [
            tables.row(f"{case['what']}: {key}", "ms", {"httpdnsd": [case[f"{key}_ms"]]})
            for case in cases for key in ("p50", "p99.9")
        ],
        "targets": [
            tables.target("no name without an address", not sum(case["unanswered"] for case in cases)),
            tables.target("p99.9 at most 450 ms with a silent vendor", early["p99.9_ms"] <= 450),
            tables.target("at most one upstream query for each name", early["upstream"] <= options.names),
            tables.target("no upstream query with a vendor that answers", healthy["upstream"] == 0),
        ],
    }


def one_case(bench, options, what, after, is_silent):
    vendor = bench.emulator("127.0.0.1:0", "*.example.com 600 A 192.0.2.1\n", ["silent"] if is_silent else [])
    upstream = fallback(bench)
    secret = bench.write("secret", "1234567890\n", 0o600)
    daemon = bench.daemon(f"""
vendors:
  vendor: {{kind: baidu, account: 107080, secret: {{file: {secret}}}, scheme: http, servers: ["{vendor.address}"]}}
routes: [{{domains: [example.com], vendors: [vendor], fallback-after: {after}}}]
upstreams: [{{name: unbound, url: "udp://127.0.0.1:{upstream.port}"}}]
""")
    lines = bench.path("lines.txt")
    bench.run([
        bench.tool("misses"), "-p", str(daemon.port), "-r", str(options.rate), "-n", str(options.names), "-t", "10",
        "-o", lines,
    ])
    stats = bench.control(daemon, "stats")
    for program in (daemon, vendor, upstream):
        program.stop()
    with open(lines, encoding="ascii") as file:
        rows = [line.split() for line in file]
    took = sorted(int(row[1]) / 1e3 for row in rows)
    case = {
        "what": what,
        "unanswered": options.names - sum(int(octet) == 1 for _, _, _, octet in rows),
        "upstream": stats["upstreams"][0]["queries"],
        "calls": stats["vendors"][0]["calls"],
        "early": stats["queries"]["early-fallback"],
        **{f"{name}_ms": took[min(len(took) - 1, int(len(took) * part))]
           for name, part in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)]},
    }
    harness.say(f"{what}: p50 {case['p50_ms']:.1f}, p99.9 {case['p99.9_ms']:.1f} ms")
    return case


def fallback(bench):
    port = harness.free_port()
    directory = bench.directory("unbound")
    settings = bench.write("fallback.conf", f"""
server:
    interface: 127.0.0.1@{port}
    directory: "{directory}"
    chroot: ""
    username: ""
    pidfile: ""
    use-syslog: no
    log-servfail: no
    local-zone: "example.com." redirect
    local-data: "example.com. 600 A 198.51.100.1"
""")
    question = b"\0\7\1\0\0\1\0\0\0\0\0\0\7example\3com\0\0\1\0\1"
    return bench.serve(["unbound", "-d", "-c", settings], port, question)


def markdown(result):
    rows = [
        [case["what"], *(f"{case[f'{key}_ms']:.1f}" for key in ("p50", "p99", "p99.9", "max")), case["unanswered"],
         f"{case['upstream']:,}", f"{case['early']:,}", f"{case['calls']:,}"]
        for case in result["cases"]
    ]
    parameters = result["parameters"]
    return "\n\n".join([
        f"{parameters['names']:,} names at {parameters['rate']:g} a second.\n{tables.place(result['machine'])}",
        tables.table(
            ["", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "unanswered", "upstream queries", "early fallback answers",
             "vendor calls"],
            rows,
        ),
    ])
