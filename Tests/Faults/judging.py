# SPDX-License-Identifier: Apache-2.0
"""Effects of a fault on clients, from the records of `storm`."""
import dataclasses
import struct

KINDS = {
    "cached": (0, 1), "expiring": (2, 3), "uncached": (4, 5), "garbage": (6,),
}
NEW_OF_VENDOR = 5
LOST, BY_UPSTREAM, BY_VENDOR, FAILED, WRONG = range(5)

# Microseconds until an answer is late, by kind.
LATE = {"cached": 100_000, "expiring": 1_000_000, "uncached": 1_000_000}


# Microseconds after a restart in which queries may be late.
CATCHING_UP = 500_000


@dataclasses.dataclass
class Span:
    """Span of a fault in microseconds since the first query."""

    begin: float
    # Time when the fault ends; a killed or stopped process then starts or continues.
    end: float


def records(path):
    with open(path, "rb") as file:
        return [each[:4] for each in struct.iter_unpack("<IIBBH", file.read())]


def judged(rows, span, is_absence):
    names = {number: name for name, numbers in KINDS.items() for number in numbers}
    result = {
        name: {"asked": 0, "lost": 0, "failed": 0, "late": 0, "wrong": 0, "away": 0, "took": []}
        for name in KINDS
    }
    last_bad = last_fallback = span.end
    bad_before = 0
    final = max(row[0] for row in rows)
    for due, took, kind, verdict in rows:
        name = names[kind]
        count = result[name]
        is_late = verdict != LOST and took > LATE.get(name, 1e9)
        is_bad = name != "garbage" and (verdict in (LOST, FAILED, WRONG) or is_late)
        if due < span.begin:
            bad_before += is_bad
            # Of the queries before the fault, only wrong answers count.
            count["wrong"] += verdict == WRONG
            continue
        count["asked"] += 1
        count["wrong"] += verdict == WRONG
        if name != "garbage":
            until = span.end + (0 if verdict == LOST else CATCHING_UP)
            is_away = is_absence and due < until and (verdict == LOST or is_late)
            count["away"] += is_away
            if not is_away:
                count["lost"] += verdict == LOST
                count["late"] += is_late
            count["failed"] += verdict == FAILED
            if verdict != LOST and not is_away:
                count["took"].append(took)
        else:
            count["lost"] += verdict == LOST
        if due >= span.end:
            if is_bad:
                last_bad = max(last_bad, due)
            if kind == NEW_OF_VENDOR and verdict != BY_VENDOR:
                last_fallback = max(last_fallback, due)
    for count in result.values():
        took = sorted(count.pop("took"))
        count["p99_ms"] = took[int(len(took) * 0.99)] / 1e3 if took else None
        count["max_ms"] = took[-1] / 1e3 if took else None
    return {
        **result,
        "bad_before": bad_before,
        # Each value is None if the effects of the fault continued to the end.
        "recovered_s": recovered(last_bad, span, final),
        "vendor_back_s": recovered(last_fallback, span, final),
    }


def recovered(last, span, final):
    return None if final - last < 500_000 else (last - span.end) / 1e6


def promises(fault, figure, server, counts_only):
    broken = []
    cached = figure["cached"]
    wrong = sum(figure[name]["wrong"] for name in KINDS)
    if wrong:
        broken.append(f"{wrong} wrong")
    if cached["lost"]:
        broken.append(f"{cached['lost']} queries for cached names lost")
    if cached["failed"]:
        broken.append(f"{cached['failed']} cached names SERVFAIL")
    if figure["expiring"]["lost"] or figure["uncached"]["lost"]:
        lost = figure["expiring"]["lost"] + figure["uncached"]["lost"]
        broken.append(f"{lost} queries for other names without any reply")
    if counts_only:
        return broken
    if cached["late"]:
        broken.append(f"{cached['late']} answers for cached names late")
    for what, key, bound in [
        ("recovery", "recovered_s", fault.within),
        ("return of the vendor", "vendor_back_s", fault.vendor_within),
    ]:
        if key == "vendor_back_s" and server != "httpdnsd":
            continue
        if figure[key] is None or figure[key] > bound:
            took = "never" if figure[key] is None else f"after {figure[key]:.1f} s"
            broken.append(f"{what} {took}, stated {bound:g} s")
    return broken
