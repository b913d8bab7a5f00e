# SPDX-License-Identifier: Apache-2.0
import glob
import importlib
import os
import sys

import report
import tables

BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"


def modules(root):
    directory = os.path.join(root, "Tests", "Faults", "attacks")
    if directory not in sys.path:
        sys.path.insert(0, directory)
    names = sorted(os.path.basename(file)[:-3] for file in glob.glob(f"{directory}/*.py"))
    found = {name: importlib.import_module(name) for name in names if name != "common"}
    return {name: module for name, module in found.items() if hasattr(module, "run")}


def attempt(module, programs, server):
    """Returns the figure, or the reason for a failure, and true if the promise holds."""
    common = importlib.import_module("common")
    try:
        return module.run(programs, server)
    except common.AttackError as error:
        return f"not run: {str(error).splitlines()[0]}", False


def run(root, bench, chosen, before):
    importlib.import_module("common").isolate()
    rows, broken = [], []
    for name, module in chosen.items():
        figure, holds = attempt(module, os.path.abspath(bench.bin), "httpdnsd")
        if not holds:
            broken.append(f"{name}: {figure}, promised: {module.PROMISE}")
        old = attempt(module, os.path.abspath(before), "httpdnsd")[0] if before else "–"
        peers = [f"{peer}: {attempt(module, bench.bin, peer)[0]}" for peer in module.PEERS]
        print(f"attacks: {name}: {figure}", file=sys.stderr, flush=True)
        rows.append([module.TITLE, module.PROMISE, old, figure, "; ".join(peers) or "–"])
    head = ["attack", "promise", "before", "now", "peer"]
    text = "\n\n".join([tables.place(bench.machine()), tables.table(head, rows)])
    return text, broken


def write(path, text):
    report.write(path, text, BEGIN, END)
