# SPDX-License-Identifier: Apache-2.0
"""Daemons with different settings, and an emulator of the vendor for each."""
import contextlib
import http.client
import json
import os
import random
import subprocess
import time

import harness
import programs
from bill_day import A, HOURS, ROUTES, Clients, Trace

# Units that a daemon without a budget limit may reserve in advance.
BLOCK = 10

NAMES_PER_CALL = 5

VENDOR = "vendor.example.net"
ALIBABA = "kind: alibaba, account: 100000, secret: {{file: {secret}}}"

BOTH_QUERIED = ", if all programs query AAAA"

# Budget of the second part, not a multiple of a call's units.
BUDGET = 503


class World:
    """The vendor: nginx with TLS in front of one emulator for each setting."""

    def __init__(self, bench, options, count):
        self.bench = bench
        self.options = options
        self.trace = Trace(options)
        self.secrets = {
            name: bench.write(name, text + "\n", 0o600) for name, text in [
                ("secret", "".join(f"{octet:02x}" for octet in range(32))),
                ("aes", "".join(f"{octet:02x}" for octet in range(16))),
                ("baidu", "1234567890"),
            ]
        }
        # One port for each emulator, at two addresses, so that the daemon has a second server for hedged requests.
        self.ports = [harness.free_port() for _ in range(count + 1)]
        self.emulators = [
            bench.emulator("127.0.0.1:0", self.trace.zone) for _ in self.ports[:-1]
        ]
        self.emulators.append(bench.emulator(
            "127.0.0.1:0", "*.example.com 600 A 192.0.2.1\n*.example.com 600 AAAA 2001:db8::1\n"
        ))
        listen = "".join(
            f"listen 127.0.0.{host}:{port} ssl http2;" for port in self.ports for host in (1, 2)
        )
        choice = "".join(
            f"if ($server_port = {port}) {{ set $backend {emulator.address}; }}"
            for port, emulator in zip(self.ports, self.emulators)
        )
        self.nginx = bench.nginx(
            f"{listen} location / {{ set $backend ''; {choice} proxy_pass http://$backend; "
            "proxy_next_upstream off; proxy_set_header X-Forwarded-Proto https; }",
            f"DNS:{VENDOR}",
        )
        self.free = list(range(len(self.ports) - 1))

    def vendor(self, text, number):
        if "scheme: http," in text:
            where = f'servers: ["{self.emulators[number].address}"]'
        else:
            port = self.ports[number]
            where = (
                f'servers: ["127.0.0.1:{port}", "127.0.0.2:{port}"], tls-name: {VENDOR}, '
                f"ca-file: {self.nginx.authority}"
            )
        return (
            text.format(**self.secrets) + f", {where}, return-to-primary-after: 1s"
        )

    def subject(self, title, text, most, more=""):
        number = self.free.pop(0)
        return Subject(self.bench, title, f"""
{more}
vendors:
  vendor: {{{self.vendor(text, number)}}}
routes:
{self.routes()}
upstreams: []
""", self.emulators[number], most)

    @staticmethod
    def routes():
        return "\n".join(
            f"- {{domains: [{domain}], vendors: [vendor], fallback: none}}" for domain in ROUTES
        )

    def day(self, settings):
        subjects = [self.subject(title, *values) for title, values in settings.items()]
        hour = self.options.hour
        queries = iter(self.trace.queries)
        pending = next(queries, None)
        began = time.monotonic()
        events = [(at * hour, event) for at, event in [
            (8, "all replies until a restart"), (8, "restart"), (11, "restart"), (13, "kill"),
            (14, "after restarts and kill -9"), (15, "silent"), (15.3, "status=503"),
            (15.6, "truncated"), (15.9, "garbage"), (16.2, "reset"), (16.5, "clear"),
            (17, "outage"), (HOURS, "all replies, with a flood"),
        ]]
        with contextlib.closing(Clients(subjects)) as clients:
            for at, event in events:
                while pending and pending[0] < at:
                    clients.wait(began + pending[0])
                    clients.send(*pending[1:])
                    pending = next(queries, None)
                clients.wait(began + at)
                began += self.act(event, subjects, clients)
        for subject in subjects:
            harness.say(f"{subject.title}: {subject.billed()} units")
        return {subject.title: subject.end(self.trace) for subject in subjects}

    @staticmethod
    def act(event, subjects, clients):
        """Performs an event; returns the seconds by which the event delays the queries of the day."""
        start = time.monotonic()
        if event in ("restart", "kill"):
            for subject in subjects:
                subject.restart(event == "kill", clients.outstanding(subject))
                clients.forget(subject)
        elif event in ("silent", "status=503", "truncated", "garbage", "reset", "clear"):
            for subject in subjects:
                # Behind nginx, `reset` is left out: nginx would return status 502, which is not billed.
                subject.fault("" if event == "clear" or event == "reset" and subject.is_proxied
                              else event)
            return 0
        else:
            clients.drain()
            # After the daemon has answered a query, its request to the vendor can continue for 2 s.
            clients.wait(time.monotonic() + 2.2)
            for subject in subjects:
                subject.check(event)
        return time.monotonic() - start

    def budget(self):
        emulator = self.emulators[-1]
        settings = f"""
vendors:
  vendor: {{{self.vendor(ALIBABA + ", scheme: https, families: both", len(self.ports) - 1)},
    budget: {{units-per-day: {BUDGET}}}}}
routes:
{self.routes()}
upstreams: []
"""
        state = self.bench.directory("state")
        subjects = [
            Subject(self.bench, f"budget {number}", settings, emulator, 10, state)
            for number in range(2)
        ]
        chance = random.Random(self.options.seed)
        used = []
        with contextlib.closing(Clients(subjects)) as clients:
            for round_number in range(12):
                subjects[0].fault(["silent:every:3", "reset:every:5", ""][round_number % 3])
                for _ in range(60):
                    clients.send(f"b{chance.getrandbits(40):x}.{ROUTES[0]}", A)
                    clients.wait(time.monotonic() + 0.005)
                if round_number < 10:
                    subject = subjects[round_number % 2]
                    subject.restart(True, clients.outstanding(subject))
                    clients.forget(subject)
                used.append(subjects[0].billed())
            clients.drain()
        figure = {
            "units": emulator_bill(emulator)["units"],
            "rounds": used,
            "counted": subjects[0].stats()["units"],
            "beyond": sum(each.stats().get("beyond-budget") or 0 for each in subjects),
        }
        for subject in subjects:
            subject.daemon.stop()
        harness.say(f"budget of {BUDGET}: {figure['units']} units")
        return figure


class Subject:
    """A daemon with its emulator, and the comparison of the daemon's counts with the emulator's bill."""

    def __init__(self, bench, title, settings, emulator, most, state=None):
        self.bench = bench
        self.title = title
        self.settings = settings
        self.emulator = emulator
        self.most = most
        self.is_proxied = "scheme: https" in settings
        self.gets_both = BOTH_QUERIED in title
        self.state = state or bench.directory("state")
        self.checks = []
        self.lost = 0
        self.start()
        self.last = self.counts()

    def start(self):
        self.daemon = self.bench.daemon(
            self.settings,
            program=[
                os.path.join(self.bench.root, "scripts", "without-ipv6"),
                self.bench.product("httpdnsd"),
            ],
            environment={"STATE_DIRECTORY": self.state},
        )

    def restart(self, kills, outstanding):
        self.lost += self.uncertain(self.stats()["units"])
        if kills:
            self.daemon.process.kill()
            self.daemon.process.wait()
        else:
            self.daemon.stop()
        self.lost += self.most * outstanding + (BLOCK if kills else 0)
        self.start()

    def fault(self, text):
        ask(self.emulator, "POST", "/_emulator/faults", text)

    def stats(self):
        return self.bench.control(self.daemon, "stats")["vendors"][0]

    def billed(self):
        return emulator_bill(self.emulator)["units"]

    def counts(self):
        before = None
        for _ in range(50):
            stats = self.stats()
            counts = {**stats["units"], "billed": self.billed()}
            if counts == before:
                return counts
            before = counts
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.daemon.process.wait(0.1)
        raise programs.Failure(f"{self.title}: the counts still change: {before}")

    @staticmethod
    def uncertain(units):
        return units["at-most"] - units["at-least"]

    def failures(self):
        """A busy machine can cause failures without a fault."""
        return sum(self.stats()["failures-by-kind"].values())

    def check(self, event):
        now = {**self.counts(), "failures": self.failures()}
        change = {key: now[key] - self.last.get(key, 0) for key in now}
        if event == "after restarts and kill -9":
            # The counts `at-least` and `at-most` are of the current process only, so `today` is compared.
            surplus = now["today"] - now["billed"]
            allowed = self.lost + self.uncertain(now)
            met = 0 <= surplus <= allowed
            text = f"{surplus} too many, at most {allowed} allowed"
        elif event == "outage":
            met = (
                change["at-least"] <= change["billed"] <= change["at-most"]
                and change["at-least"] < change["at-most"]
                and change["today"] == change["at-most"]
            )
            text = f"{change['at-least']} ≤ {change['billed']} ≤ {change['at-most']}"
        else:
            met = (
                0 < change["at-least"] <= change["billed"] <= change["at-most"] == change["today"]
                and (
                    self.uncertain(change) <= self.most * NAMES_PER_CALL * change["failures"]
                    or "baidu" in self.title
                )
            )
            text = (
                f"{change['at-least']} ≤ {change['billed']} ≤ {change['at-most']} with "
                f"{change['failures']} failures"
            )
        self.checks.append({"what": f"{event} ({text})", "met": met, **change})
        self.last = now

    def end(self, trace):
        bill = self.bench.control(self.daemon, "bill")
        names = emulator_bill(self.emulator)["names"]
        figure = {
            "units": self.billed(),
            "dual": sum(
                sum(units.values()) for name, units in names.items()
                if trace.families.get(name) == 2
            ),
            "vendor": self.stats(),
            "saved": bill["vendors"][0].get("saved"),
            "advice": bill["advice"],
            "checks": self.checks,
        }
        self.daemon.stop()
        return figure


def emulator_bill(emulator):
    return json.loads(ask(emulator, "GET", "/_emulator/bill"))


def ask(emulator, method, path, body=None):
    connection = http.client.HTTPConnection(emulator.address, timeout=10)
    with contextlib.closing(connection):
        connection.request(method, path, body, {"Content-Type": "text/plain"})
        reply = connection.getresponse()
        text = reply.read().decode()
    if reply.status != 200:
        raise programs.Failure(f"{method} {path}: {reply.status} {text}")
    return text
