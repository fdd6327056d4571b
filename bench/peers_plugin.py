"""git-kb as an engine of a peer benchmark.

    bench_peers.py --plugin bench/peers_plugin.py --engines fts5_contentless,tantivy,git-kb …

The benchmark hands every engine the same sections and queries. Ours is the index alone, as the others' are: segments and one
view in a directory, built by two processes; what `git kb` does around it (manifests, git objects, the text of hits) is timed by
bench_spine.py, and whole `git kb search` processes by the benchmark's --cold-cmd.
"""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from bench_peers import Engine, register  # type: ignore[import-not-found]

from git_kb.index.build import Entry, build_segments, entry_id
from git_kb.index.segments import Segments, merge_and_publish, read_current, write_segment
from git_kb.index.view import View, ViewDocument, ViewPart, ViewRow, encode_documents, encode_view, join_parts, write_view
from git_kb.search.query import parse_query
from git_kb.search.rank import search
from git_kb.store.freshness import slices

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Section = dict[str, Any]
COLD = (
    "import gc; gc.disable()\nimport sys; sys.path.insert(0, sys.argv[1])\n"
    "from git_kb.index.segments import Segments\nfrom git_kb.index.view import View\n"
    "from git_kb.search.query import parse_query\nfrom git_kb.search.rank import search\n"
    "view = View(sys.argv[2] + '/views/all.kbv')\nsegments = Segments.open(sys.argv[2])\n"
    "for hit in search(segments, view, parse_query(sys.argv[3]), 10).hits: print(view.rows_of(hit.entry_id)[0].line, hit.score)\n"
)


def entry(section: Section) -> Entry:
    content = section["body"] or section["title"]
    id_ = entry_id(hashlib.sha256(f"{section['title']}\0{content}".encode("utf-8", "replace")).digest()[:16], section["title"])
    return Entry(id_, "text/markdown", section["title"], content)


def part_of(numbered: list[tuple[int, Section]]) -> ViewPart:
    """Return sections as the rows of one document; the line is the section's number."""
    first = numbered[0][0] if numbered else 0
    document = ViewDocument(f"{first}.toml", b"", str(first), "", "a.md", "text/markdown", "", "", ())
    rows = [ViewRow(entry(s).entry_id, 0, n, 0, 1, 1, "", "", ()) for n, s in numbered]
    return encode_documents([(document, rows)])


def write_slice(directory: str, sections: list[Section]) -> list[str]:
    entries = sorted({e.entry_id: e for e in map(entry, sections)}.values(), key=lambda e: e.entry_id)
    return [write_segment(directory, data) for data in build_segments(entries)]


@register("git-kb")
class GitKb(Engine):  # type: ignore[misc]
    @property
    def top(self) -> str:
        return str(self.dir)

    @property
    def view_path(self) -> str:
        return os.path.join(self.top, "views", "all.kbv")

    def build(self, sections: list[Section]) -> dict[str, float]:
        from multiprocessing import get_context

        ordered = sorted(sections, key=lambda s: entry(s).entry_id)
        pieces = [ordered[piece.start : piece.stop] for piece in slices(len(ordered))]
        n_processes = min(int(self.opts.get("processes", 2)), len(pieces))
        # Forked, so that the sections need not be sent. Whoever loads this file need not have given it a name to import it by.
        context = get_context("fork")
        written = context.SimpleQueue()

        def write(some: list[list[Section]]) -> None:
            for piece in some:
                written.put(write_slice(self.top, piece))

        workers = [context.Process(target=write, args=(pieces[n::n_processes],)) for n in range(n_processes)]
        for worker in workers:
            worker.start()
        names = [name for _ in pieces for name in written.get()]
        for worker in workers:
            worker.join()
        merge_and_publish(self.top, names)
        self._publish(part_of(list(enumerate(sections, 1))))
        return {}

    def _publish(self, part: ViewPart, old: View | None = None) -> None:
        segments = Segments.open(self.top)
        write_view(self.view_path, encode_view(b"all", part, segments, old=old))
        segments.close()

    def open(self) -> None:
        self.segments = Segments.open(self.top)
        self.view = View(self.view_path)
        self.next = self.view.n_rows

    def q(self, query: dict[str, Any], mode: str) -> str:
        if query["phrase"]:
            return '"' + " ".join(query["terms"]) + '"'
        # Every word in its quotes has to be held, as with AND.
        return " ".join(query["terms"] if mode == "or" else (f'"{t}"' for t in query["terms"]))

    def search(self, qs: str, k: int = 10) -> list[tuple[int, float]]:
        hits = search(self.segments, self.view, parse_query(qs), k).hits
        return [(self.view.rows_of(hit.entry_id)[0].line, hit.score) for hit in hits]

    def add(self, sections: list[Section]) -> None:
        names = read_current(self.top) + write_slice(self.top, sections)
        merge_and_publish(self.top, names)
        numbered = list(enumerate(sections, self.next + 1))
        self._publish(join_parts([self.view.part(0, self.view.n_documents), part_of(numbered)]), self.view)
        self.view.close()
        self.segments.close()
        self.open()

    def cold(self, qs: str) -> list[str]:
        return [sys.executable, "-c", COLD, HERE, self.top, qs]
