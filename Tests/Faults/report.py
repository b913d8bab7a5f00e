# SPDX-License-Identifier: Apache-2.0
"""The table of faults."""
import tables

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


def number(value):
    """Highlights a count that is not 0."""
    return f"{value:,}" if value == 0 else f"**{value:,}**"


def milliseconds(value):
    return "–" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def seconds(value):
    return "**not seen**" if value is None else f"{value:.1f}"


def three(count):
    return f"{count['lost']:,} / {count['failed']:,} / {milliseconds(count['max_ms'])}"


def line(row, is_first):
    title = row["title"] if is_first else ""
    if "failure" in row:
        return [title, row["server"], row["failure"], *[""] * 9]
    cached, brief, fresh = row["cached"], row["expiring"], row["uncached"]
    wrong = sum(row[kind]["wrong"] for kind in ("cached", "expiring", "uncached", "garbage"))
    is_ours = row["server"] == "httpdnsd"
    back = seconds(row["vendor_back_s"]) + f" ({row['vendor_within']:g})" if is_ours else "–"
    return [
        title, row["server"], f"{cached['asked']:,}",
        number(cached["lost"]), number(cached["late"]),
        f"{cached['away']:,}" if row["is_absence"] else "–", milliseconds(cached["max_ms"]),
        three(brief), three(fresh),
        number(wrong), seconds(row["recovered_s"]) + (f" ({row['within']:g})" if is_ours else ""),
        back,
    ]


def markdown(result):
    rows, last = [], None
    for row in result["rows"]:
        rows.append(line(row, row["fault"] != last))
        last = row["fault"]
    return "\n\n".join([
        f"{result['rate']:,.0f} queries a second; faults last {result['seconds']:g} s, if not said "
        f"otherwise; {result['minutes']:.0f} minutes. {tables.place(result['machine'])}",
        tables.table(
            ["fault", "server", "cached: asked", "lost", "late", "while away", "worst ms",
             "expiring: lost / SERVFAIL / worst ms", "uncached: lost / SERVFAIL / worst ms",
             "wrong", "well after s (stated)", "vendor back after s (stated)"],
            rows,
        ),
    ])


def write(path, text, begin=BEGIN, end=END):
    with open(path, encoding="utf-8") as file:
        old = file.read()
    head, rest = old.split(begin)
    _, tail = rest.split(end)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{begin}\n{text}\n{end}{tail}")
