# SPDX-License-Identifier: Apache-2.0
"""How long it takes from exec to the first answer.

The first question is for a name that the authority must be asked for, but for the floor. *With a
snapshot*: the daemon finds a file of a hundred thousand answers, and has nobody to ask; *a name of
the snapshot* is asked for until it is there, *its own name* is one that is in the settings.
"""
import harness
import peers
import tables

NAME = "start"
SNAPSHOT = 100_000


def add_options(parser):
    """Adds the options of this benchmark."""
    parser.add_argument("--rounds", type=int, default=9, help="starts of each (default 9)")
    peers.add_options(parser)
    parser.add_argument(
        "--names", type=int, default=SNAPSHOT, help="of the snapshot (default 100000)"
    )
    parser.add_argument("--cpu", default="0", help="of the server (default 0)")
    parser.add_argument("--peer-cpu", default="1", help="of the others (default 1)")
    parser.add_argument("--free", action="store_true", help="pin nothing")


def run(bench, options):
    """Measures, and returns the figures."""
    world = peers.Peers(bench, options, [])
    wanted = peers.chosen(options)
    commands = {
        title: (command, port, peers.READY)
        for title, (command, port) in programs(bench, world).items() if title in wanted
    }
    if "httpdnsd" in wanted:
        file = snapshot(bench, world, options)
        for what, name in [
            ("a name of the snapshot", f"name{options.names - 1:07}.hits.example"),
            ("its own name", "own.example"),
        ]:
            port = harness.free_port()
            commands[what] = (daemon(bench, port, f"""
upstreams: []
hosts: {{files: [], records: {{own.example: [192.0.2.1]}}}}
cache: {{size: 64MiB, snapshot: {file}}}
"""), port, name)
    times = {title: [] for title in commands}
    for number in range(options.rounds):
        for title, (command, port, name) in commands.items():
            # One start at a time, in turn.
            times[title] += bench.run(
                [bench.tool("first"), str(port), name, "1", *harness.pinned(command, world.cpu)],
                world.peer_cpu,
            )
        harness.say(f"start: round {number + 1} of {options.rounds}")
    plain = {title: values for title, values in times.items() if title in peers.ALL}
    rows = [tables.row("exec to the first answer", "ms", plain)]
    for title, values in times.items():
        if title not in peers.ALL:
            rows.append(tables.row(
                f"with a snapshot of {options.names:,}: {title}", "ms", {"httpdnsd": values}
            ))
    return {
        "benchmark": NAME,
        "about": "From exec, by way of taskset, to the first answer; the client asks every 100 µs.",
        "parameters": {key: getattr(options, key) for key in ("rounds", "servers", "names")},
        "rows": rows,
        "rounds": times,
        "targets": [
            tables.target(
                "every start ends in an answer",
                all(time is not None for values in times.values() for time in values),
            ),
            tables.cheaper("sooner than every peer", rows[0]),
        ],
    }


def programs(bench, world):
    """The servers' commands and ports."""
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
    """The command of a daemon on a port."""
    state = bench.directory("daemon")
    file = bench.write(
        f"{state}/httpdnsd.yaml",
        f'listen: ["127.0.0.1:{port}"]\ncontrol: {{socket: {state}/control.sock, mode: "0600"}}\n'
        + settings,
    )
    return [bench.product("httpdnsd"), "--config", file]


def snapshot(bench, world, options):
    """Has a daemon ask for names and write them down at its end; returns the file."""
    file = f"{bench.directory('snapshot')}/cache.snapshot"
    server = bench.daemon(f"""
workers: 1
upstreams: [{{name: authority, url: "udp://127.0.0.1:{world.authority.port}"}}]
hosts: {{files: []}}
cache: {{size: 64MiB, snapshot: {file}}}
""", world.cpu)
    world.fill(server, options.names, "-a")
    server.stop()
    return file
