"""Readers at full rate while a writer ingests, merges and publishes: no error, and every answer is that of a published state.

    bench_concurrency.py [--seconds 60] [--readers 8]

The writer adds documents one after another, of which each holds the word "every" and a number of its own. So a search for
"every" has as many hits as documents were published when its view was made: a count that is no published one, or that goes
back, is a torn answer. Readers run `git kb search` whole, but for the start of a process. Prints searches a second, the
publishes meanwhile, and what went wrong; exit status 1 when anything did.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from git_kb.cli.env import Env
from git_kb.cli.main import run

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORDS = "".join(f"\n## Part {n}\n\nsome words {n}\n" for n in range(20))


def write(top: str, until: float, published: object) -> None:
    """Add documents until the time is over; the shared number says how many are surely published."""
    n = 0
    while time.time() < until:
        n += 1
        with open(os.path.join(top, f"d{n}.md"), "w", encoding="utf-8") as file:
            file.write(f"# Document {n}\n\nOne of every kind, number n{n}.\n{WORDS}")
        subprocess.run([sys.executable, "-m", "git_kb", "ingest", "-q", f"d{n}.md"], cwd=top, check=True)
        published.value = n  # type: ignore[attr-defined]


def read(top: str, until: float, published: object, results: object) -> None:
    """Search until the time is over; puts (searches, errors)."""
    n_searches = last = 0
    errors: list[str] = []
    while time.time() < until and len(errors) < 5:
        try:
            out, err = io.StringIO(), io.StringIO()
            code = run(["search", "--json", "--limit", "100000", "every"], Env(top, dict(os.environ), out, err, io.BytesIO()))
            total = len(json.loads(out.getvalue())["results"]) if code == 0 else 0
            after = published.value  # type: ignore[attr-defined]
            # A document counts as published when its ingest has ended; its view is there a moment before.
            if code not in (0, 1) or not last <= total <= after + 1:
                errors.append(f"exit {code}: {total} hits, with {last} seen before and {after} published after: {err.getvalue()}")
            last = total
            n_searches += 1
        except Exception:
            errors.append(traceback.format_exc(limit=3))
    results.put((n_searches, errors))  # type: ignore[attr-defined]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=8)
    args = parser.parse_args()
    os.environ["PYTHONPATH"] = HERE
    with tempfile.TemporaryDirectory(prefix="git-kb-bench-") as top:
        for command in (
            ["git", "init", "-q"],
            ["git", "config", "user.name", "b"],
            ["git", "config", "user.email", "b@example.com"],
        ):
            subprocess.run(command, cwd=top, check=True)
        subprocess.run([sys.executable, "-m", "git_kb", "init", "-q"], cwd=top, check=True)
        published = multiprocessing.Value("i", 0)
        results: multiprocessing.Queue[tuple[int, list[str]]] = multiprocessing.Queue()
        until = time.time() + args.seconds
        processes = [multiprocessing.Process(target=write, args=(top, until, published))]
        processes += [multiprocessing.Process(target=read, args=(top, until, published, results)) for _ in range(args.readers)]
        for process in processes:
            process.start()
        outcomes = [results.get() for _ in range(args.readers)]
        for process in processes:
            process.join()
        errors = [e for _, some in outcomes for e in some]
        print(f"{args.readers} readers, {args.seconds:.0f} s: {sum(o[0] for o in outcomes) / args.seconds:.0f} searches/s,")
        print(f"  {published.value} publishes, {len(errors)} errors")
        for error in errors[:10]:
            print("  " + error.strip().replace("\n", "\n  "))
        return 1 if errors or processes[0].exitcode else 0


if __name__ == "__main__":
    sys.exit(main())
