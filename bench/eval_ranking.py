#!/usr/bin/env python3
"""nDCG@10, recall@100 and reciprocal rank of our ranking on judged collections.

    eval_ranking.py FOLDER... [--k1 X] [--b H,B,C] [--weights H,B,C]

Each folder holds corpus.jsonl {_id, title, text}, queries.jsonl {_id, text} and qrels.tsv (query, document, grade, with a heading
line). A document is indexed as one entry: its title the heading, its text the body, its language what ingest would find. nDCG as
trec_eval has it: gain = grade, discount = log2(rank + 1).
"""

import argparse
import hashlib
import json
import os
import sys
from math import log2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from git_kb.index.build import Entry, build_segments, context_of, entry_id
from git_kb.index.segment import Segment
from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewDocument, ViewRow, encode_documents, encode_view
from git_kb.model.document import ENGLISH
from git_kb.search.query import parse_query
from git_kb.search.rank import search
from git_kb.search.score import DEFAULTS, Parameters
from git_kb.text.detect import document_language


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_qrels(path):
    """Return query id -> document id -> grade."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            parts = line.split()
            if parts and parts[-1].lstrip("-").isdigit():
                found.setdefault(parts[0], {})[parts[-2]] = int(parts[-1])
    return found


def index(folder):
    """Return (segments, view, entry id -> document id)."""
    entries, names, ids = {}, {}, {}
    for row in read_lines(os.path.join(folder, "corpus.jsonl")):
        title, text = row.get("title") or "", row["text"]
        digest = hashlib.sha256(f"{row['_id']}\0{title}\0{text}".encode()).digest()[:16]
        language = document_language("text/plain", f"{title}\n{text}") or ENGLISH
        context = context_of(title, (), "" if language == ENGLISH else language)
        entry = Entry(entry_id(digest, context), "text/plain", context, text)
        entries[entry.entry_id] = entry
        names[entry.entry_id] = row["_id"]
        ids.setdefault(language, []).append(entry.entry_id)
    segments = Segments("", [Segment.over(data) for data in build_segments(sorted(entries.values()))], [])
    documents = []
    for language in sorted(ids):
        code = "" if language == ENGLISH else language
        document = ViewDocument(f"{language}.toml", b"", language, "A", "a.md", "text/plain", "", "", (), language=code)
        documents.append((document, [ViewRow(id_, 0, 1, 0, 1, 1, "c-1", "", ()) for id_ in sorted(ids[language])]))
    return segments, View.over("view", encode_view(b"", encode_documents(documents), segments)), names


def measure(ranked, grades):
    """Return (nDCG@10, recall@100, reciprocal rank in the first 10) of one query."""
    gain = sum(max(grades.get(d, 0), 0) / log2(i + 2) for i, d in enumerate(ranked[:10]))
    ideal = sum(g / log2(i + 2) for i, g in enumerate(sorted((g for g in grades.values() if g > 0), reverse=True)[:10]))
    relevant = {d for d, g in grades.items() if g > 0}
    first = next((i for i, d in enumerate(ranked[:10]) if d in relevant), None)
    return gain / ideal, len(relevant & set(ranked[:100])) / len(relevant), 0.0 if first is None else 1 / (first + 1)


def evaluate(folder, parameters, indexed=None):
    """Return (nDCG@10, recall@100, RR@10), the means over the queries that have relevant documents."""
    segments, view, names = indexed or index(folder)
    qrels = read_qrels(os.path.join(folder, "qrels.tsv"))
    rows = []
    for query in read_lines(os.path.join(folder, "queries.jsonl")):
        grades = qrels.get(query["_id"], {})
        if any(g > 0 for g in grades.values()):
            hits = search(segments, view, parse_query(query["text"], view.rules), 100, 0, parameters).hits
            rows.append(measure([names[h.entry_id] for h in hits], grades))
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def triple(text):
    return tuple(map(float, text.split(",")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--k1", type=float, default=DEFAULTS.k1)
    parser.add_argument("--b", type=triple, default=DEFAULTS.b)
    parser.add_argument("--weights", type=triple, default=DEFAULTS.weights)
    args = parser.parse_args()
    parameters = Parameters(args.weights, args.b, args.k1)
    print(f"{'collection':20} nDCG@10   R@100   RR@10")
    for folder in args.folder:
        ndcg, recall, rr = evaluate(folder, parameters)
        print(f"{os.path.basename(os.path.normpath(folder)):20} {ndcg:7.4f} {recall:7.4f} {rr:7.4f}", flush=True)


if __name__ == "__main__":
    main()
