# SPDX-License-Identifier: Apache-2.0
"""Time from exec to the first answer."""
import socket

import harness
import measuring
import peers
import tables

NAME = "start"
SNAPSHOT = 100_000


def add_options(parser):
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--starts", type=int, default=3, help="starts per round (default 3)")
    measuring.add_quiet_options(parser)
    peers.add_options(parser)
    parser.add_argument(
        "--names", type=int, default=SNAPSHOT, help="names in the snapshot (default 100000)"
    )
    parser.add_argument("--cpu", default="0", help="CPU of the server (default 0)")
    parser.add_argument("--peer-cpu", default="1", help="CPU of all other programs (default 1)")
    parser.add_argument("--free", action="store_true", help="do not pin programs to CPUs")


def run(bench, options):
    world = peers.Peers(bench, options, [])
    wanted = peers.chosen(options)
    commands = {
        title: (command, port, peers.READY)
        for title, (command, port) in programs(bench, world).items() if title in wanted
    }
    if "httpdnsd" in wanted:
        file, silent = snapshot(bench, world, options)
        bench.stack.callback(silent.close)
        for what, name in [
            ("a name of the snapshot", f"name{options.names - 1:07}.hits.example"),
            ("its own name", "own.example"),
        ]:
            port = harness.free_port()
            commands[what] = (daemon(bench, port, f"""
upstreams: [{{name: authority, url: "udp://127.0.0.1:{silent.getsockname()[1]}"}}]
hosts: {{files: [], records: {{own.example: [192.0.2.1]}}}}
cache: {{size: 64MiB, snapshot: {file}}}
"""), port, name)

    def one(title, *_):
        command, port, name = commands[title]
        starts = [
            bench.tool("first"), str(port), name, str(options.starts),
            *harness.pinned(command, world.cpu),
        ]
        figure = measuring.watched(
            lambda: bench.run(starts, world.peer_cpu), authority=world.authority
        )
        figure["all"] = all(time is not None for time in figure["times"])
        figure["ms"] = min(figure["times"], key=lambda time: time or 1e9)
        return figure

    figures = measuring.in_turn(options, NAME, list(commands), one)
    rows = []
    for what, title in [
        ("to the first answer", None),
        *[(f"with a snapshot of {options.names:,}: {title}", title) for title in commands
          if title not in peers.ALL],
    ]:
        chosen = {"httpdnsd": figures[title]} if title else {
            title: figures[title] for title in commands if title in peers.ALL
        }
        rows += tables.rows_of(f"start: {what}", chosen, ms=lambda each: each["ms"])
    return {
        "benchmark": NAME,
        "about": "From exec, by way of taskset, to the first answer; the client asks without a pause. "
        f"The best of {options.starts} starts is a round's.",
        "parameters": {
            key: getattr(options, key) for key in ("rounds", "starts", "servers", "names")
        },
        "rows": rows,
        "rounds": figures,
        "targets": [
            tables.target(
                "every start ends in an answer",
                all(each["all"] for rounds in figures.values() for each in rounds),
            ),
        ],
    }


def programs(bench, world):
    upstream, made = world.authority.port, {}
    port = harness.free_port()
    made["httpdnsd"] = daemon(bench, port, peers.daemon_settings(upstream, size=64 << 20)), port
    port = harness.free_port()
    made["floor"] = [bench.tool("floor"), "udp", str(port)], port
    port, state = harness.free_port(), bench.directory("unbound")
    file = bench.write(
        f"{state}/unbound.conf", peers.unbound_settings(state, port, upstream)
    )
    made["unbound"] = ["unbound", "-d", "-c", file], port
    port, state = harness.free_port(), bench.directory("dnsdist")
    file = bench.write(f"{state}/dnsdist.lua", peers.dnsdist_settings(
        port, f"{{address='127.0.0.1:{upstream}',checkInterval=10}}", 100_000
    ))
    made["dnsdist"] = ["dnsdist", "--supervised", "--disable-syslog", "-C", file], port
    port = harness.free_port()
    made["dnsmasq"] = peers.dnsmasq_command(port, upstream, 10_000), port
    port, state = harness.free_port(), bench.directory("smartdns")
    file = bench.write(
        f"{state}/smartdns.conf",
        peers.smartdns_settings(state, port, f"server 127.0.0.1:{upstream}", 100_000),
    )
    made["smartdns"] = ["smartdns", "-f", "-c", file, "-p", f"{state}/pid"], port
    return made


def daemon(bench, port, settings):
    state = bench.directory("daemon")
    file = bench.write(
        f"{state}/httpdnsd.yaml",
        f'listen: ["127.0.0.1:{port}"]\ncontrol: {{socket: {state}/control.sock, mode: "0600"}}\n'
        + settings,
    )
    return [bench.product("httpdnsd"), "--config", file]


def snapshot(bench, world, options):
    """Makes a daemon resolve names and write a snapshot; returns the file, and the socket of a silent upstream.

    The socket has the address of the upstream that answered the names, because the daemon discards the answers of
    an upstream that is not in its settings.
    """
    file = f"{bench.directory('snapshot')}/cache.snapshot"
    authority = peers.nsd(bench, world.peer_cpu)
    server = bench.daemon(f"""
workers: 1
upstreams: [{{name: authority, url: "udp://127.0.0.1:{authority.port}"}}]
hosts: {{files: []}}
cache: {{size: 64MiB, snapshot: {file}}}
""", world.cpu)
    world.fill(server, options.names, "-a")
    server.stop()
    authority.stop()
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", authority.port))
    return file, silent
