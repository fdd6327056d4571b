"""Growth curves: what a peer benchmark measured at several sizes, as one SVG.

    bench_peers.py … --sections 10000 --json 10k.json      # and so on, for each size
    plot_growth.py OUT.svg 10k.json 100k.json 500k.json

Needs matplotlib (`pip install 'git-kb[bench]'`). Both axes are logarithmic: a straight line of slope 1 is growth in proportion.
"""

import argparse
import json

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

PANELS = [
    ("build, s", lambda r: r["build"]["wall_s"]),
    ("any term, p50, ms", lambda r: 1000 * r["warm"]["or"]["p50"]),
    ("any term, p95, ms", lambda r: 1000 * r["warm"]["or"]["p95"]),
    ("phrase, p95, ms", lambda r: 1000 * r["warm"]["or"]["phrase_p95"]),
    ("cold process, p50, ms", lambda r: 1000 * r["cold"]["p50"]),
    ("add 100 documents, ms", lambda r: 1000 * r["add"]["add100_p50"]),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out")
    parser.add_argument("results", nargs="+")
    args = parser.parse_args()
    runs = []
    for path in args.results:
        with open(path, encoding="utf-8") as file:
            runs.append(json.load(file))
    runs.sort(key=lambda run: run["facts"]["sections"])
    figure, axes = pyplot.subplots(2, 3, figsize=(12, 6.5), layout="constrained")
    for axis, (title, value) in zip(axes.flat, PANELS, strict=True):
        for name in runs[-1]["results"]:
            points = [(run["facts"]["sections"], value(run["results"][name])) for run in runs if _has(run, name, value)]
            axis.plot(*zip(*points, strict=True), marker="o", label=name) if points else None
        axis.set(title=title, xscale="log", yscale="log", xlabel="sections")
        axis.grid(True, which="both", linewidth=0.3)
    axes.flat[0].legend()
    figure.savefig(args.out, metadata={"Date": None})


def _has(run, name, value):
    """Return whether this run measured that of this engine."""
    try:
        return value(run["results"][name]) > 0
    except (KeyError, TypeError):
        return False


if __name__ == "__main__":
    main()
