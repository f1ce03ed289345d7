# SPDX-License-Identifier: BSD-2-Clause
"""Rows of vs_perftest.sh to a table: the ratio gdrproof/perftest of each pair, its median, the
least and the greatest, and a bootstrap 95 % interval of the median. ratios.py ROWS [JSON]"""
import collections
import json
import random
import statistics
import sys

rates = collections.defaultdict(dict)
cpu = collections.defaultdict(dict)
for line in open(sys.argv[1]):
    words = line.split()
    if len(words) == 7 and words[0] in ("perftest", "gdrproof"):
        tool, op, size, qps, pair, rate, seconds = words
        rates[(op, size, qps)][(tool, pair)] = float(rate)
        cpu[(op, size, qps)][(tool, pair)] = float(seconds)

rows, bad = [], False
print(f"{'op':6} {'size':6} {'qps':>3} {'perftest':>9} {'gdrproof':>9} {'ratio':>6}  {'[min   max]':13} "
      f"{'95 % interval':15} pairs")
for (op, size, qps), values in rates.items():
    pairs = sorted({pair for _, pair in values})
    ratios = [values[("gdrproof", p)] / values[("perftest", p)] for p in pairs
              if values.get(("perftest", p)) and values.get(("gdrproof", p))]
    if len(ratios) < len(pairs) or not ratios:
        print(f"{op:6} {size:6} {qps:>3} a measurement failed")
        bad = True
        continue
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    row = {"op": op, "size": size, "qps": int(qps), "ratio": statistics.median(ratios),
           "min": min(ratios), "max": max(ratios), "ci95": [medians[50], medians[-51]], "pairs": len(ratios),
           "perftest_gbytes_per_s": statistics.median(values[("perftest", p)] for p in pairs),
           "gdrproof_gbytes_per_s": statistics.median(values[("gdrproof", p)] for p in pairs)}
    rows.append(row)
    print(f"{op:6} {size:6} {qps:>3} {row['perftest_gbytes_per_s']:9.4f} {row['gdrproof_gbytes_per_s']:9.4f} "
          f"{row['ratio']:6.3f}  [{row['min']:.3f} {row['max']:.3f}] [{row['ci95'][0]:.3f} {row['ci95'][1]:.3f}]   "
          f"{row['pairs']}")
if len(sys.argv) > 2:
    with open(sys.argv[2], "w") as f:
        json.dump({"schema": "gdrproof/vs_perftest/1", "rows": rows}, f, indent=1)
sys.exit(1 if bad or not rows else 0)
