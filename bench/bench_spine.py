"""The whole path against SQLite FTS5, in one run: stages of an ingest, index build, warm and cold search.

    python bench/bench_spine.py --repo PATH [--queries 60] [--rounds 3]

PATH is any git repository (a clone, a bare one); it is cloned to a temporary directory, nothing is written to it. Without
--repo, git-kb's own repository. Queries are bags of 1 to 4 words drawn from its sections (fixed seed): rare, medium and common
ones. FTS5 gets the same sections: a contentless table (heading, body) with the porter tokenizer, ORDER BY bm25(). All figures are
from this machine and this run: quote the ratios.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from git_kb.index.build import Entry
from git_kb.index.segments import Segments
from git_kb.ingest.ingest import Options, ingest, write_manifest
from git_kb.ingest.select import select_sources
from git_kb.repo.discover import discover
from git_kb.repo.open import open_repository
from git_kb.repo.worktree import read_sources
from git_kb.search.query import parse_query
from git_kb.search.rank import search
from git_kb.store.create import create_root
from git_kb.store.cut import Limits, cut_source
from git_kb.store.freshness import Hooks, build_missing, fresh_view, headings_of_view, read_view
from git_kb.store.freshness import read_entries as read_pool_entries
from git_kb.store.manifest import render_head
from git_kb.store.pool import Pool, PoolWriter
from git_kb.store.state import StateName, worktree_config
from git_kb.store.viewfile import current_view
from git_kb.text.chunk import Unusable
from git_kb.text.fields import fields
from git_kb.text.words import words

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MATCH = "select rowid from sections where sections match ? order by bm25(sections) limit 10"
COLD_FTS = (
    f"import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\nfor row in db.execute({MATCH!r}, (sys.argv[2],)): print(row[0])\n"
)

# So many of the queries start processes; a multiple of the kinds that `make_queries` takes turns with.
N_COLD = 48
# What was timed -> the times in seconds, one a round.
stages: dict[str, list[float]] = {}


@contextmanager
def timed(name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    stages.setdefault(name, []).append(time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repo", default=HERE, help="git repository to ingest")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="worker processes of the parallel runs")
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix="git-kb-bench-")
    try:
        run(args, work)
    finally:
        shutil.rmtree(work)


def run(args: argparse.Namespace, work: str) -> None:
    top = os.path.join(work, "repo")
    subprocess.run(["git", "clone", "--quiet", "--shared", args.repo, top], check=True)
    for key, value in (("user.name", "bench"), ("user.email", "bench@example.com")):
        subprocess.run(["git", "-C", top, "config", key, value], check=True)
    place = discover(top)
    create_root(place, None, 0.0)
    n_sections, n_bytes = by_stages(top)
    database = os.path.join(work, "fts5.db")
    entries: list[Entry] = []
    for _ in range(args.rounds):
        forget(top)
        entries = builds(top, args.jobs, entries, database)
    report_builds(n_sections, n_bytes, top, database, entries)
    queries = make_queries(entries, args.queries)
    report("warm top-10", warm(top, database, queries, args.rounds))
    report("cold process", cold(top, database, queries[:N_COLD], args.rounds))


def forget(top: str) -> None:
    """Undo an ingest; its objects stay, which nothing looks for.

    Its files are moved away: for five minutes after many are deleted, ext4 takes up to ten times as long to make new ones.
    """
    subprocess.run(["git", "-C", top, "update-ref", "-d", "refs/kb/sections"], check=True)
    away = tempfile.mkdtemp(dir=os.path.dirname(top))
    for name in ("kb/documents", ".git/kb"):
        if os.path.exists(os.path.join(top, name)):
            os.rename(os.path.join(top, name), os.path.join(away, os.path.basename(name)))


def builds(top: str, jobs: int, entries: list[Entry], database: str) -> list[Entry]:
    """Time each build once, engines next to each other. Returns the entries, which are read where none are given."""
    repo = open_repository(discover(top))
    config = worktree_config(repo.place)
    hooks = Hooks(lambda m: None, lambda m: None, null_lock, jobs=jobs)
    with timed(f"whole ingest, {jobs} processes"):
        selection = select_sources(repo.place, ["."], config, lambda m: None)
        ingest(repo, selection, config, Options(jobs=jobs))
        fresh_view(repo, StateName(), hooks)
    headings = headings_of_view(read_view(repo, StateName(), hooks)[0])
    for n in (jobs, 1):
        with timed(f"index build alone, processes: {n}"):
            build_missing(Pool(repo), headings, n, lambda: None, hooks)
        hooks.jobs = n
        with timed(f"'index --rebuild', processes: {n}"):
            fresh_view(repo, StateName(), hooks, rebuild=True)
    if not entries:
        entries = read_entries(repo)
        gc.freeze()  # so that holding them costs the next round nothing
    if os.path.exists(database):
        os.unlink(database)
    with timed("FTS5 build"):
        build_fts5(database, entries)
    return entries


@contextmanager
def null_lock() -> Iterator[None]:
    yield


def by_stages(top: str) -> tuple[int, int]:
    """Ingest with one process, stage by stage; returns (sections, bytes of sources)."""
    place = discover(top)
    config = worktree_config(place)
    limits = Limits(config.chunk_target, config.chunk_ceiling, config.detect_language)
    with timed("stage: list and hash"):
        selection = select_sources(place, ["."], config, lambda m: None)
    with timed("stage: read"):
        sources = [(f.path, data) for f, data in read_sources(place, [s.file for s in selection.work])]
    cuts = []
    with timed("stage: cut and name"):
        for path, data in sources:
            try:
                cuts.append((path, cut_source(path, data, limits)))
            except Unusable:
                continue
    repo = open_repository(place)
    with timed("stage: store"):
        writer = PoolWriter(Pool(repo))
        for _, cut in cuts:
            for kbid, data in cut.objects.items():
                if not writer.has(kbid):
                    writer.add(kbid, data)
        writer.commit("bench")
    from git_kb.ingest.ingest import _head

    blobs = {s.path: s for s in selection.work}
    directory = os.path.join(top, "kb/documents")
    os.makedirs(directory, exist_ok=True)
    with timed("stage: manifests"):
        for path, cut in cuts:
            head = _head(blobs[path], cut, None, "", Options(), config.language)
            write_manifest(directory, head.docid, (render_head(head) + cut.rows_text).encode())
    with timed("stage: view and index"):
        fresh_view(repo, StateName(), Hooks(lambda m: None, lambda m: None, null_lock))
    return sum(len(c.rows) for _, c in cuts), sum(len(d) for _, d in sources)


def read_entries(repo: object) -> list[Entry]:
    """Return every entry of the view, from the pool."""
    view, _ = read_view(repo, StateName(), Hooks(lambda m: None, lambda m: None, null_lock))  # type: ignore[arg-type]
    return list(read_pool_entries(Pool(repo), headings_of_view(view), [], lambda n: None))  # type: ignore[arg-type]


def build_fts5(path: str, entries: list[Entry]) -> None:
    db = sqlite3.connect(path)
    db.execute("create virtual table sections using fts5(heading, body, content='', tokenize='porter')")
    rows = ((n, e.heading, e.content) for n, e in enumerate(entries))
    db.executemany("insert into sections(rowid, heading, body) values(?, ?, ?)", rows)
    db.commit()
    db.close()


def report_builds(n_sections: int, n_bytes: int, top: str, database: str, entries: list[Entry]) -> None:
    text = sum(len(e.heading) + len(e.content) for e in entries)
    fts5 = statistics.median(stages["FTS5 build"])
    print(
        f"{n_sections} sections, {n_bytes / 1e6:.1f} MB of sources; {len(entries)} entries, {text / 1e6:.1f} M characters of text"
    )
    for name, times in stages.items():
        seconds = statistics.median(times)
        print(f"  {name:36} {seconds:8.2f} s   {seconds / fts5:6.2f} x FTS5   {' '.join(f'{t:.1f}' for t in times)}")
    segments = os.path.join(top, ".git/kb/segments")
    size = sum(os.path.getsize(os.path.join(segments, n)) for n in os.listdir(segments))
    print(f"  index / text: {size / text:.2f}; FTS5: {os.path.getsize(database) / text:.2f}")
    print(
        f"  peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (with all entries held)"
    )


def make_queries(entries: list[Entry], count: int) -> list[str]:
    """Return `count` queries, the same ones for the same entries."""
    rng = random.Random(20)
    sample = rng.sample(entries, min(len(entries), 20_000))
    df: Counter[str] = Counter()
    texts = []
    for entry in sample:
        found = [
            w.lower() for w in words(fields(entry.mime, entry.content[:3000], "")[1]) if w.isascii() and w.isalpha() and len(w) > 2
        ]
        texts.append(found)
        df.update(set(found))
    n = len(sample)
    bands = {"r": (1, max(20, n // 1000)), "m": (n // 1000, n // 50), "c": (n // 20, n)}
    plan = ["r", "m", "c", "rc", "mm", "mc", "rmc", "mmc", "mcc", "rmcc", "mmcc", "cccc"]
    queries: list[str] = []
    for attempt in range(count * 500):
        kinds = plan[len(queries) % len(plan)]
        found = texts[rng.randrange(n)]
        chosen = []
        for kind in kinds:
            low, high = bands[kind]
            fitting = [w for w in found if low <= df[w] <= high and w not in chosen]
            if fitting:
                chosen.append(rng.choice(fitting))
        if len(chosen) == len(kinds):
            queries.append(" ".join(chosen))
        if len(queries) == count or attempt > count * 400:
            break
    return queries


def warm(top: str, database: str, queries: list[str], rounds: int) -> dict[str, list[float]]:
    """Return the times in ms of ranking alone, engines interleaved: rank() here, the SELECT there."""
    opened = current_view(discover(top))
    assert opened is not None
    view, segments = opened
    assert isinstance(segments, Segments)
    db = sqlite3.connect(database)
    times: dict[str, list[float]] = {"git-kb": [], "FTS5": []}
    for turn in range(rounds + 1):
        for query in queries:
            start = time.perf_counter()
            search(segments, view, parse_query(query), 10)
            middle = time.perf_counter()
            db.execute(MATCH, (" OR ".join(query.split()),)).fetchall()
            end = time.perf_counter()
            if turn:  # the first round warms both
                times["git-kb"].append(1000 * (middle - start))
                times["FTS5"].append(1000 * (end - middle))
    return times


def cold(top: str, database: str, queries: list[str], rounds: int) -> dict[str, list[float]]:
    """Return the times in ms of whole processes, engines interleaved."""
    import compileall

    compileall.compile_dir(os.path.join(HERE, "git_kb"), quiet=2)
    env = {**os.environ, "PYTHONPATH": HERE}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    ours = [sys.executable, os.path.join(HERE, "bin", "git-kb")]
    times: dict[str, list[float]] = {"git-kb": [], "FTS5": [], "python -c pass": []}
    for _ in range(rounds):
        for query in queries:
            for name, command in (
                ("git-kb", [*ours, "search", *query.split()]),
                ("FTS5", [sys.executable, "-c", COLD_FTS, database, " OR ".join(query.split())]),
                ("python -c pass", [sys.executable, "-c", "pass"]),
            ):
                start = time.perf_counter()
                subprocess.run(command, cwd=top, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                times[name].append(1000 * (time.perf_counter() - start))
    return times


def report(title: str, times: dict[str, list[float]]) -> None:
    print(title)
    cuts = {name: (statistics.median(t), statistics.quantiles(t, n=20)[-1]) for name, t in times.items()}
    p50, p95 = cuts["FTS5"]
    for name, (a, b) in cuts.items():
        print(f"  {name:16} p50 {a:8.2f} ms ({a / p50:5.2f} x)   p95 {b:8.2f} ms ({b / p95:5.2f} x)")


if __name__ == "__main__":
    main()
