# SPDX-License-Identifier: Apache-2.0
import tables

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


def number(value):
    return f"{value:,}" if value == 0 else f"**{value:,}**"


def milliseconds(value):
    return "–" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def seconds(value):
    return "**not seen**" if value is None else f"{value:.1f}"


KINDS = ("cached", "expiring", "uncached")


def total(row, key):
    return sum(row[kind][key] for kind in KINDS)


def failures(row):
    if row is None:
        return "–"
    if "failure" in row:
        return "not run"
    return f"{number(total(row, 'lost'))} / {total(row, 'failed'):,}"


def line(title, servers):
    row = servers.get("httpdnsd")
    own = ["–"] * 3 if row is None else [
        f"{total(row, 'failed'):,}", *(
            milliseconds(max(row[kind]["max_ms"] or 0 for kind in kinds))
            for kinds in (KINDS[:1], KINDS[1:])
        ),
    ]
    return [title, *own, failures(servers.get("unbound")), failures(servers.get("dnsmasq"))]


def longest(rows, key):
    values = [row[key] for row in rows]
    return seconds(None if None in values else max(values, default=None))


def markdown(result):
    figures = [row for row in result["rows"] if row["server"] == "httpdnsd"]
    wrong = sum(row[kind]["wrong"] for row in figures for kind in (*KINDS, "garbage"))
    late = sum(row["cached"]["late"] for row in figures)
    lost = sum(total(row, "lost") for row in figures)
    faults = {}
    for row in result["rows"]:
        faults.setdefault(row["title"], {})[row["server"]] = row
    return "\n\n".join([
        f"{result['rate']:,.0f} queries a second; faults last {result['seconds']:g} s, unless the "
        f"table says otherwise. httpdnsd, all faults together: {number(lost)} queries without a "
        f"reply, {number(wrong)} wrong replies, {number(late)} replies for cached names after more "
        f"than 100 ms. After the end of each fault, all queries succeeded again within "
        f"{longest(figures, 'recovered_s')} s, and the vendor answered again within "
        f"{longest(figures, 'vendor_back_s')} s. "
        f"{tables.place(result['machine'], ('swift', 'unbound', 'dnsmasq'))}",
        tables.table(
            ["fault", "SERVFAIL", "cached, worst ms", "other, worst ms",
             "unbound: lost / SERVFAIL", "dnsmasq: lost / SERVFAIL"],
            [line(*fault) for fault in faults.items()],
        ),
    ])


def write(path, text, begin=BEGIN, end=END):
    with open(path, encoding="utf-8") as file:
        old = file.read()
    head, rest = old.split(begin)
    _, tail = rest.split(end)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{begin}\n{text}\n{end}{tail}")
