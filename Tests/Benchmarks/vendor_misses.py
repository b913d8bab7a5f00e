# SPDX-License-Identifier: Apache-2.0
"""Cost of a miss that a vendor answers over TLS and HTTP/2.

In turn, a C loop with libcurl's multi interface makes the same requests with the same options.
"""
import statistics

import harness
import measuring
import tables

NAME = "vendor-misses"

# Calls in flight per vendor.
CALLS = 32

TITLES = {"daemon": "httpdnsd", "loop": "floor", "proxy": "C, UDP before it"}

VENDORS = {
    "json": {
        "yaml": "kind: json, url: \"https://vendor.example.net/resolve\", billable: false",
        "secret": None,
        "url": "https://vendor.example.net:{port}/resolve?name={{name}}&type=A",
        "header": "Accept: application/dns-json",
        "content": """
            default_type application/dns-json;
            location = /resolve { return 200 '{"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,
"CD":false,"Question":[{"name":"$arg_name.","type":1}],
"Answer":[{"name":"$arg_name.","type":1,"TTL":600,"data":"192.0.2.1"}]}'; }
        """,
    },
    "tencent": {
        "yaml": "kind: tencent, channel: https, tls-name: vendor.example.net, "
        "token: {{file: {secret}}}",
        "secret": "987654321\n",
        "url": "https://vendor.example.net:{port}/d?dn={{name}}&token=987654321"
        "&ttl=1&clientip=1&query=1&type=addrs",
        "header": None,
        "content": None,
    },
}


def tencent_content():
    maps = []
    for count in range(1, 9):
        groups = ",".join(f"(?<n{count}x{index}>[^,]+)" for index in range(count))
        lines = "\n".join(
            f"$n{count}x{index}.:192.0.2.1,600-2001:db8::1,600|127.0.0.1" for index in range(count)
        )
        maps.append(f'if ($arg_dn ~ "^{groups}$") {{ return 200 "{lines}"; }}')
    return "default_type text/plain;\nlocation = /d { " + "\n".join(maps) + "return 404; }"


VENDORS["tencent"]["content"] = tencent_content()


def add_options(parser):
    parser.add_argument("--names", type=int, default=10_000, help="names per round (default 10000)")
    parser.add_argument("--concurrent", type=int, default=200, help="queries in flight (default 200)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--vendor", choices=sorted(VENDORS), default="json")
    parser.add_argument("--http", choices=["auto", "1.1", "2"], default="2")
    parser.add_argument(
        "--extra", default="", help="further settings of the vendor, such as 'hedge-after: 5s, ...'"
    )
    parser.add_argument("--cpu", default="0", help="CPU of the daemon and the C loop (default 0)")
    parser.add_argument("--peer-cpu", default="1", help="CPU of nginx and the client (default 1)")
    parser.add_argument("--free", action="store_true", help="do not pin programs to CPUs")
    measuring.add_quiet_options(parser)
    parser.add_argument(
        "--hold",
        action="store_true",
        help="print the daemon's pid and the load command, and wait for Enter (for a profiler)",
    )


def run(bench, options):
    vendor = VENDORS[options.vendor]
    cpu, peer = measuring.processors(options)
    nginx = bench.nginx(vendor["content"], "DNS:vendor.example.net", peer)
    harness.accepted(nginx)
    secret = bench.write("secret", vendor["secret"], 0o600) if vendor["secret"] else ""
    extra = f", {options.extra}" if options.extra else ""
    daemon = bench.daemon(
        f"""
vendors:
  vendor: {{{vendor["yaml"].format(secret=secret)}, servers: ["127.0.0.1:{nginx.port}"],
           ca-file: {nginx.authority}, http: "{options.http}"{extra}}}
routes: [{{domains: [example.com], vendors: [vendor], fallback: none}}]
upstreams: []
""",
        cpu,
    )
    loop = [
        bench.tool("vendorloop", "-lcurl"), "-u", vendor["url"].format(port=nginx.port),
        "-a", f"127.0.0.1:{nginx.port}", "-n", str(options.names), "-C", nginx.authority,
        *(["-H", vendor["header"]] if vendor["header"] else []),
        *(["-1"] if options.http == "1.1" else []),
    ]
    servers = {"daemon": daemon}
    if options.vendor == "json":
        servers["proxy"] = bench.start(
            [*loop, "-c", str(CALLS), "-p", "0"], "answering on ", cpu
        )
        servers["proxy"].port = int(servers["proxy"].said.rsplit(":", 1)[1])

    def client(server):
        return [
            bench.tool("misses"), "-p", str(server.port), "-n", str(options.names),
            "-c", str(options.concurrent),
        ]

    if options.hold:
        harness.say(f"pid {daemon.process.pid}; load: {' '.join(client(daemon))} -k PREFIX")
        input()
    figures = {title: [] for title in [*servers, "loop"]}
    for number in range(options.rounds):
        for title in figures:
            def one(attempt):
                prefix = f"{title[0]}{number}x{attempt}x"
                if title in servers:
                    server = servers[title]
                    figure = measure(
                        lambda: bench.run([*client(server), "-k", prefix], peer), server, nginx
                    )
                    figure["subject_us"] = figure["server_us"]
                else:
                    command = [*loop, "-c", str(options.concurrent), "-k", prefix]
                    figure = measure(lambda: bench.run(command, cpu), None, nginx)
                    figure["subject_us"] = figure["cpu_us"]
                figure["cost_us"] = figure["subject_us"] / options.names
                figure["rate"] = options.names / figure["seconds"]
                harness.say(
                    f"round {number + 1}: {title} {figure['cost_us']:.1f} us a miss, "
                    f"{figure['rate']:.0f}/s, strangers {figure['strangers']:.2f} of a core"
                )
                return figure

            figures[title].append(measuring.quietest(options, one))
    ratios = [
        one["cost_us"] / other["cost_us"] for one, other in zip(figures["daemon"], figures["loop"])
    ]
    stats = bench.control(daemon, "stats")
    result = {
        "benchmark": NAME,
        "parameters": {
            key: getattr(options, key)
            for key in ("names", "concurrent", "rounds", "vendor", "http", "extra", "free")
        },
        "rounds": figures,
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "vendor": stats["vendors"][0],
    }
    result["rows"] = tables.rows_of(
        f"vendor misses ({options.vendor})",
        {TITLES[title]: rounds for title, rounds in figures.items()},
        **{"CPU µs a name": lambda each: each["cost_us"], "names/s": lambda each: each["rate"]},
    )
    daemons = figures["daemon"]
    unanswered = sum(each["lost"] + each["failed"] + each["empty"] for each in daemons)
    opened = sum(each["connections"] for each in daemons)
    result["unanswered"], result["connections"] = unanswered, opened
    result["targets"] = [
        tables.target("every name gets its address", unanswered == 0),
        tables.target("at most 4 connections", opened <= 4),
        tables.target("at most 1.5 times the C loop's processor time", result["ratio"] <= 1.5),
    ]
    return result


def measure(body, server, nginx):
    before = harness.accepted(nginx)
    figure = measuring.watched(body, server=server, nginx=nginx)
    figure["connections"] = harness.accepted(nginx) - before
    return figure


def markdown(result):
    rows = []
    names = result["parameters"]["names"]
    for title, key in [
        ("httpdnsd", "daemon"), ("C, UDP before it", "proxy"), ("C, libcurl alone", "loop"),
    ]:
        rounds = result["rounds"].get(key)
        if not rounds:
            continue

        def middle(name):
            return tables.median(rounds, name)

        seconds = middle("seconds") * 1e6
        lost = sum(
            each["lost"] + each["failed"] + each["empty"]
            if key != "loop" else each["failed"] + each["wrong"]
            for each in rounds
        )
        peers = middle("nginx_us") + (middle("client_us") if key != "loop" else 0)
        rows.append([
            title, f"{middle('rate'):,.0f}", f"{middle('cost_us'):.1f}",
            f"{middle('p50_us') / 1e3:.2f} / {middle('p99_us') / 1e3:.2f}", lost,
            f"{sum(each['connections'] for each in rounds)}",
            f"{middle('subject_us') / seconds:.0%}", f"{peers / seconds:.0%}",
        ])
    parameters = result["parameters"]
    strangers = max(each["strangers"] for rounds in result["rounds"].values() for each in rounds)
    spread = f"{min(result['ratios']):.2f} to {max(result['ratios']):.2f}"
    return "\n\n".join([
        f"{names:,} names a round, {parameters['concurrent']} at a time, {parameters['rounds']} "
        f"rounds in turn, medians; vendor `{parameters['vendor']}`, HTTP {parameters['http']}"
        + (f", {parameters['extra']}" if parameters["extra"] else "")
        + f".\n{tables.place(result['machine'])}",
        tables.table(
            ["", "misses/s", "CPU µs a miss", "p50 / p99 ms", "unanswered", "connections",
             "its core", "the peers' core"],
            rows,
        ),
        f"Ratio {result['ratio']:.2f} ({spread}); requests for a name: "
        f"{requests_a_name(result):.2f}; strangers used up to {strangers:.2f} of a core.",
    ])


def requests_a_name(result):
    vendor = result["vendor"]
    tries = vendor["connections-opened"] + vendor["connections-reused"]
    return tries / vendor["calls"] if vendor["calls"] else 0
