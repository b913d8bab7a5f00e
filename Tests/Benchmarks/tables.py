# SPDX-License-Identifier: Apache-2.0
"""Output of figures: medians with their spread, and tables in Markdown."""
import statistics

COLUMNS = {
    "httpdnsd": "httpdnsd",
    "floor": "C floor",
    "polling": "C polling",
    "unbound": "unbound",
    "dnsdist": "dnsdist",
    "dnsmasq": "dnsmasq",
    "smartdns": "smartdns",
}


def row(what, unit, values, strangers=None):
    return {
        "what": what,
        "unit": unit,
        "values": {
            title: value if isinstance(value, list) else [value] for title, value in values.items()
        },
        "strangers": strangers,
    }


def rows_of(what, figures, **units):
    """Each unit in `units` has a function that returns the value of this unit from a figure."""
    strangers = max(each["strangers"] for rounds in figures.values() for each in rounds)
    return [
        row(
            what,
            unit,
            {title: [take(each) for each in rounds] for title, rounds in figures.items()},
            strangers,
        )
        for unit, take in units.items()
    ]


def middle(line, title):
    values = [value for value in line["values"].get(title, []) if value is not None]
    return statistics.median(values) if values else None


def cell(values):
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    value = statistics.median(values)
    if value == 0:
        text = "0"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    elif abs(value) >= 100:
        text = f"{value:.0f}"
    else:
        text = f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    if len(values) > 1 and value:
        spread = max(abs(each - value) for each in values) / abs(value)
        text += f" ±{spread:.0%}"
    return text


def rows_table(rows):
    titles = [title for title in COLUMNS if any(title in line["values"] for line in rows)]
    for line in rows:
        titles += [title for title in line["values"] if title not in titles]
    return table(
        ["", "", *[COLUMNS.get(title, title) for title in titles]],
        [
            [
                line["what"] + (" (!)" if (line["strangers"] or 0) > 0.15 else ""),
                line["unit"],
                *[cell(line["values"].get(title, [])) for title in titles],
            ]
            for line in rows
        ],
    )


def weather(rows):
    most = max((line["strangers"] or 0 for line in rows), default=0)
    if most <= 0.15:
        return f"Others used at most {most:.2f} of a core."
    return (
        f"**Others used up to {most:.2f} of a core during lines with (!), "
        "which are worth no more than a first idea.**"
    )


def cheaper(what, lines, unit="CPU µs/q", title="httpdnsd", floor="floor"):
    """Returns the targets of one server: it must have lower values than every peer."""
    targets = []
    for line in lines:
        others = [middle(line, each) for each in line["values"] if each not in (title, floor)]
        others = [each for each in others if each is not None]
        if line["unit"] == unit and title in line["values"] and others:
            mine = middle(line, title)
            targets.append(target(
                f"{line['what']}: {what}", mine is not None and mine < min(others)
            ))
    return targets


def markdown(result):
    return "\n\n".join([
        f"{result['about']}\n{place(result['machine'])}",
        rows_table(result["rows"]),
        weather(result["rows"]),
    ])


def median(rounds, key):
    return statistics.median(each[key] for each in rounds)


def target(what, met):
    return {"what": what, "met": bool(met)}


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def place(machine, programs=None):
    versions = ", ".join(
        f"{name} {version}" for name, version in machine["versions"].items()
        if version and name != "system" and (programs is None or name in programs)
    )
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['versions']['system']}, "
        f"kernel {machine['kernel']}, {machine['libcurl'].split(' ')[0]}, {versions}; "
        f"commit {machine['commit']}, {machine['time']}."
    )
