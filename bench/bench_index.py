#!/usr/bin/env python3
"""Build and warm top-10 of our index beside SQLite FTS5 (contentless, porter), same sections and queries, rounds interleaved.

    bench_index.py SECTIONS.jsonl [--limit N] [--queries N] [--rounds N]

SECTIONS.jsonl holds one object a line: title, body, path. Read the ratios, not the milliseconds: the machine is seldom idle.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import re
import resource
import sqlite3
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from git_kb.index.build import Entry, build_segments, entry_id
from git_kb.index.segments import Segments, publish, write_segment
from git_kb.index.view import View, ViewDocument, ViewRow, encode_documents, encode_view
from git_kb.search.query import parse_query
from git_kb.search.rank import search


def read_sections(path, limit):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for _, line in zip(range(limit), file, strict=False)]
    return [(r["title"], r["body"], r.get("path", "")) for r in rows]


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make_queries(rows, count, seed=20):
    """Bags of 1 to 4 words of one section, of every frequency, and phrases of two words."""
    rng = random.Random(seed)
    df = collections.Counter()
    for title, body, _ in rows:
        df.update(set(re.findall(r"[a-z]{2,}", f"{title} {body}".lower())))
    queries = []
    while len(queries) < count:
        body = rows[rng.randrange(len(rows))][1]
        words = sorted(w for w in set(re.findall(r"[a-z]{2,}", body.lower())) if df[w] >= 3)
        pairs = re.findall(r"\b([a-z]{3,}) ([a-z]{3,})\b", body)
        if len(queries) % 7 == 6 and pairs:
            queries.append((list(rng.choice(pairs)), True))
        elif len(words) >= 4:
            queries.append((rng.sample(words, 1 + len(queries) % 4), False))
    return queries


def build_ours(rows, directory):
    entries = sorted(
        {
            e.entry_id: e
            for title, body, path in rows
            for e in [
                Entry(
                    entry_id(hashlib.sha256(f"{path}\0{title}\0{body}".encode()).digest()[:16], title), "text/markdown", title, body
                )
            ]
        }.values()
    )
    start = time.perf_counter()
    names = [(write_segment(directory, data), 0) for data in build_segments(entries)]
    publish(directory, names)
    took = time.perf_counter() - start
    segments = Segments.open(directory)
    document = ViewDocument("a.toml", b"", "a", "A", "a.md", "text/markdown", "", "", ())
    view_rows = [ViewRow(e.entry_id, 0, 1, 0, 1, 1, "c-1", "", ()) for e in entries]
    view = View.over("view", encode_view(b"", encode_documents([(document, view_rows)]), segments))
    size = sum(os.path.getsize(os.path.join(directory, "segments", n)) for n, _ in names)
    return (
        took,
        size,
        lambda words, phrase: search(segments, view, parse_query(f'"{" ".join(words)}"' if phrase else " ".join(words)), 10).hits,
    )


def build_fts5(rows, path):
    db = sqlite3.connect(path)
    db.execute("create virtual table f using fts5(title, body, content='', tokenize='porter unicode61')")
    start = time.perf_counter()
    db.executemany("insert into f(rowid, title, body) values (?, ?, ?)", ((i, t, b) for i, (t, b, _) in enumerate(rows)))
    db.commit()
    took = time.perf_counter() - start

    def ask(words, phrase):
        match = f'"{" ".join(words)}"' if phrase else " OR ".join(f'"{w}"' for w in words)
        return db.execute("select rowid from f where f match ? order by bm25(f, 2.0, 1.0) limit 10", (match,)).fetchall()

    return took, os.path.getsize(path), ask


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(len(values) * p / 100))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections")
    parser.add_argument("--limit", type=int, default=10**9)
    parser.add_argument("--queries", type=int, default=140)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows = read_sections(args.sections, args.limit)
    size = sum(len(t.encode()) + len(b.encode("utf-8", "replace")) for t, b, _ in rows)
    queries = make_queries(rows, args.queries)
    before = peak_mb()
    with tempfile.TemporaryDirectory() as directory:
        engines = {"ours": build_ours(rows, directory), "fts5": build_fts5(rows, os.path.join(directory, "fts5.db"))}
        print(
            f"{len(rows)} sections, {size / 1e6:.1f} MB; peak RSS {before:.0f} MB with the input, {peak_mb():.0f} after both builds"
        )
        for name, (took, index, _) in engines.items():
            print(f"{name:5} build {took:6.2f} s {size / took / 1e6:6.2f} MB/s  index/text {index / size:.2f}")
        times = {name: [[] for _ in queries] for name in engines}
        for _ in range(args.rounds):
            for i, (words, phrase) in enumerate(queries):
                for name, (_, _, ask) in engines.items():
                    start = time.perf_counter()
                    ask(words, phrase)
                    times[name][i].append((time.perf_counter() - start) * 1e3)
        for kind in (False, True):
            table = {
                n: [statistics.median(t) for t, (_, phrase) in zip(ts, queries, strict=True) if phrase == kind]
                for n, ts in times.items()
            }
            for p in (50, 95):
                ours, fts5 = (percentile(table[n], p) for n in ("ours", "fts5"))
                print(f"{'phrase' if kind else 'words':6} p{p}: ours {ours:7.3f} ms, fts5 {fts5:7.3f} ms, ratio {ours / fts5:.2f}")


if __name__ == "__main__":
    main()
