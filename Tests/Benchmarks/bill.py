# SPDX-License-Identifier: Apache-2.0
"""Units that a vendor bills for a synthetic day with different settings, and with an SDK in each program.

Each setting has its own daemon and its own emulator of the vendor. If all replies arrived, the daemon's count
must equal the bill; if replies were lost, the bill must be within the daemon's bounds.
"""
import re

import tables
from bill_daemons import ALIBABA, BOTH_QUERIED, BUDGET, World
from bill_day import DUAL_STACK, HOURS, SPEED, STUBS

NAME = "bill"

# Compared settings: vendor, maximum units of one name, and more settings.
DEFAULTS = "families: both"
AUTO = "families: auto"
SETTINGS = {
    DEFAULTS: (ALIBABA + ", scheme: https, families: both", 10, ""),
    AUTO: (ALIBABA + ", scheme: https", 10, ""),
    AUTO + ", scheme: http, encryption: gcm, batching: together": (
        ALIBABA + ", aes-key: {{file: {aes}}}, scheme: http, encryption: gcm, batching: together",
        6, "",
    ),
    AUTO + BOTH_QUERIED: (ALIBABA + ", scheme: https", 10, ""),
    AUTO + ", aaaa: suppress" + BOTH_QUERIED: (
        ALIBABA + ", scheme: https", 10, "answers: {aaaa: suppress}"
    ),
    "kind: baidu": (
        "kind: baidu, account: 107080, secret: {{file: {baidu}}}, scheme: https", 5, ""
    ),
}
ADVISED = "as `bill` advises, with the same protection"


def add_options(parser):
    parser.add_argument(
        "--hour", type=float, default=2, help="duration of the sample of each hour (default 2)"
    )
    parser.add_argument("--rate", type=float, default=100, help="look-ups per second (default 100)")
    parser.add_argument("--names", type=int, default=200, help="names of the vendor (default 200)")
    parser.add_argument("--seed", type=int, default=18, help="seed of the synthetic day (default 18)")


def run(bench, options):
    world = World(bench, options, len(SETTINGS) + 1)
    figures = world.day(SETTINGS)
    advice = figures[DEFAULTS]["advice"]
    figures |= world.day({ADVISED: (
        SETTINGS[DEFAULTS][0].replace(", families: both", "") + advised_families(advice),
        10,
        f"cache: {{minimum-ttl: {advised_ttl(advice) // SPEED}s}}",
    )})
    figures["sdk"] = {
        "as received": world.trace.sdk_units(1),
        "three quarters": world.trace.sdk_units(0.75),
    }
    budget = world.budget()

    targets = []
    for title in [*SETTINGS, ADVISED]:
        for check in figures[title]["checks"]:
            targets.append(tables.target(f"{title}: {check['what']}", check["met"]))
    for title, share in [(AUTO, 0.55), (ADVISED, 0.35)]:
        targets.append(tables.target(
            f"{title}: at most {share} of the units of {DEFAULTS}, for dual-stack names",
            figures[title]["dual"] <= share * figures[DEFAULTS]["dual"],
        ))
    targets.append(tables.target(
        f"a budget of {BUDGET} units is never exceeded", budget["units"] <= BUDGET
    ))
    targets.append(tables.target(
        "most of the budget is used", budget["units"] > 0.8 * BUDGET
    ))
    return {
        "benchmark": NAME,
        "parameters": {key: getattr(options, key) for key in ("hour", "rate", "names", "seed")},
        "figures": figures,
        "budget": budget,
        "rows": [
            tables.row("bill of a day", "units", {title: figures[title]["units"]})
            for title in [*SETTINGS, ADVISED]
        ],
        "targets": targets,
    }


def advised_families(advice):
    found = [each["setting"] for each in advice if each["setting"].startswith("families: ")]
    return f", {found[0]}" if found else ", families: both"


def advised_ttl(advice):
    found = [re.match(r"minimum-ttl: (\d+)s", each["setting"]) for each in advice]
    return next((int(each[1]) for each in found if each), 0)


def markdown(result):
    figures, budget = result["figures"], result["budget"]
    parameters = result["parameters"]
    base = figures[DEFAULTS]["units"]
    rows = []
    for title in [*SETTINGS, ADVISED]:
        figure = figures[title]
        restarts, outage = figure["checks"][1:3]
        rows.append([
            title, f"{figure['units']:,}",
            *(["–", "–"] if "baidu" in title else [
                f"{figure[key] / figures[DEFAULTS][key]:.2f}" for key in ("units", "dual")
            ]),
            " + ".join(
                f"{check['billed']:,}" if check["at-least"] == check["at-most"]
                else f"{check['at-least']:,} ≤ {check['billed']:,} ≤ {check['at-most']:,}"
                for check in figure["checks"][::3]
            ),
            restarts["what"].split(" (")[1].rstrip(")"),
            outage["what"].split(" (")[1].rstrip(")"),
        ])
    for title, key in [
        ("an SDK in each program, TTL as received", "as received"),
        ("an SDK in each program, ¾ of the TTL", "three quarters"),
    ]:
        units = figures["sdk"][key]
        rows.append([title, f"{units:,}", f"{units / base:.2f}", "", "", "", ""])
    return "\n\n".join([
        f"{HOURS} hours of {parameters['hour']:g} s, TTLs of 30 s to 600 s divided by {SPEED}; "
        f"{parameters['names']} names, {DUAL_STACK:.0%} of them dual-stack, "
        f"{parameters['rate']:g} look-ups a second by "
        + ", ".join(f"{count} {stub}" for stub, (count, _, _) in STUBS.items())
        + f" without IPv6.\n{tables.place(result['machine'])}",
        tables.table(
            ["settings", "units", f"of {DEFAULTS}", "dual-stack names only",
             "counted and billed with all replies", "after restarts and kill -9",
             "outage: at least ≤ billed ≤ at most"],
            rows,
        ),
        f"Budget of {BUDGET} units, two daemons, ten times kill -9: {budget['units']} units billed, "
        f"{budget['counted']['today']} counted.",
    ])
