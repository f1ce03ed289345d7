#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""make.py OUT SEED NOISE ROUNDS [PATH=FACTOR | -PATH | KEY.KEY=VALUE]...

A record made from emulated.json: rounds of made-up figures around a level per path. PATH=FACTOR
scales a path, -PATH takes it out, client.kernel=6.1 and the like change its surroundings.
"""
import json
import os
import random
import statistics
import sys

LEVELS = {"dmabuf": 48.7, "peermem": 47.0, "host": 49.0, "bounce": 21.0}


def make(out, seed, noise, rounds, changes):
    rng = random.Random(seed)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "emulated.json")) as f:
        record = json.load(f)
    factors = {}
    for change in changes:
        name, _, value = change.partition("=")
        if change.startswith("-"):
            record["cells"] = [c for c in record["cells"] if c["path"]["requested"] != change[1:]]
        elif name in LEVELS:
            factors[name] = float(value)
        else:
            *parts, last = name.split(".")
            at = record
            for part in parts:
                at = at[part]
            at[last] = value
    for cell in record["cells"]:
        path = cell["path"]["requested"]
        level = LEVELS[path] * factors.get(path, 1) * (0.95 if cell["op"] == "read" else 1)
        values = [level * (1 + rng.gauss(0, noise)) for _ in range(rounds)]
        cell["rounds"] = [{"gbytes_per_s": v, "bytes": int(v * 2e9), "seconds": 2.0,
                           "messages": int(v * 2e9) // cell["size"]} for v in values]
        cell["summary"] = {"median": statistics.median(values), "min": min(values),
                           "max": max(values),
                           "ci95": [min(values), max(values)] if rounds > 2 else None}
    with open(out, "w") as f:
        json.dump(record, f, indent=1)


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
