"""What it costs to add documents, against what git takes to commit them, in one run.

    python bench/bench_add.py --repo PATH [--rounds 10]

PATH is any git repository; it is cloned to a temporary directory, nothing is written to it, and all of it is ingested and
committed first. Then, taking turns, one document (and a hundred) is changed and committed by git (`git add`, `git commit`), and
ingested by `git kb ingest <path>`: whole processes, each durable when it ends, and the same in a process that is running, as in a
server: what is left is work, not the start of Python. All figures are of this machine and this run.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from git_kb.cli.main import main as kb_in_process

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IDENTITY = {
    f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
}
ENVIRON = {**os.environ, **IDENTITY, "PYTHONPATH": HERE}
ENVIRON.pop("PYTHONDONTWRITEBYTECODE", None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repo", default=HERE, help="git repository to ingest")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix="git-kb-bench-")
    try:
        run(args, os.path.join(work, "clone"))
    finally:
        shutil.rmtree(work)


def run(args: argparse.Namespace, top: str) -> None:
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", args.repo, top], check=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", os.path.join(HERE, "git_kb")], check=False)
    kb(top, "init", "-q")
    kb(top, "ingest", "-q")
    commit(top, ["."])
    listed = subprocess.run(["git", "-C", top, "ls-files", "-z", "*.md"], check=True, capture_output=True).stdout
    # Short ones: it is the cost of adding that is asked for, not of cutting what is long.
    sources = [s for s in os.fsdecode(listed).split("\0") if s and os.path.getsize(os.path.join(top, s)) < 20_000]
    os.chdir(top)
    chosen = random.Random(1)
    # New sections that are like no other.
    words: set[str] = set()
    for source in chosen.sample(sources, min(50, len(sources))):
        with open(source, encoding="utf-8", errors="replace") as file:
            words.update(word for word in file.read().split() if word.isalpha())
    ordered = sorted(words)
    times: dict[str, list[float]] = {}
    number = 0
    for _ in range(args.rounds):
        for n in (1, 100):
            for what in ("git add + commit", "git kb ingest", "ingest, in process"):
                paths = [sources[(number + i) % len(sources)] for i in range(min(n, len(sources)))]
                number += len(paths)
                for path in paths:
                    with open(path, "a", encoding="utf-8") as file:
                        file.write(f"\n## {' '.join(chosen.sample(ordered, 3))}\n\n{' '.join(chosen.sample(ordered, 60))}\n")
                start = time.perf_counter()
                if what.startswith("git add"):
                    commit(top, paths)
                elif what.startswith("git kb"):
                    kb(top, "ingest", "-q", "--", *paths)
                else:
                    kb_in_process(["ingest", "-q", "--", *paths])
                times.setdefault(f"{what}, {n}", []).append(time.perf_counter() - start)
    for what, values in sorted(times.items()):
        print(f"{what:28} {statistics.median(values) * 1e3:8.1f} ms  (from {min(values) * 1e3:.1f} to {max(values) * 1e3:.1f})")


def kb(top: str, *args: str) -> None:
    subprocess.run([sys.executable, "-m", "git_kb", *args], cwd=top, env=ENVIRON, check=True)


def commit(top: str, paths: list[str]) -> None:
    subprocess.run(["git", "-C", top, "add", "--", *paths], env=ENVIRON, check=True)
    subprocess.run(["git", "-C", top, "commit", "-q", "-m", "add"], env=ENVIRON, check=True)


if __name__ == "__main__":
    main()
