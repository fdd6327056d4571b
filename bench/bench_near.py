"""Near-duplicates: how many of them signatures find, against a comparison of all pairs; and what looking for them costs.

    bench/bench_near.py --repo PATH [--repo PATH ...] [--sections N]

Each repository is cloned and ingested with one process. Printed are: sections; pairs at or over the threshold, counted by
comparing every pair of sections whose sizes allow it; how many of them the command's own search tells; and processor time of
signatures and search over that of the whole ingest without them. --sections: compare so many sections at most, spread evenly
over the repository; all pairs of 10,000 take about a minute.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from time import process_time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from git_kb.cli.env import process_env  # noqa: E402
from git_kb.cli.main import run  # noqa: E402
from git_kb.index.signatures import body_terms, encode_signatures  # noqa: E402
from git_kb.repo.discover import discover  # noqa: E402
from git_kb.repo.lockfile import WriterLock  # noqa: E402
from git_kb.store import near  # noqa: E402
from git_kb.store.freshness import Hooks  # noqa: E402
from git_kb.store.viewfile import current_view  # noqa: E402
from git_kb.text.minhash import THRESHOLD  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", action="append", required=True)
    parser.add_argument("--sections", type=int, default=10_000)
    args = parser.parse_args()
    print("repository  sections  compared  true-pairs  found  recall  ingest-cpu-s  signatures  search  share")
    for repo in args.repo:
        measure(repo, args.sections)


def measure(repo, n_most):
    with tempfile.TemporaryDirectory() as top:
        subprocess.run(["git", "clone", "-q", repo, top], check=True)
        subprocess.run(["rm", "-rf", f"{top}/kb", f"{top}/kb.config.json"], check=True)
        os.chdir(top)
        command("init", "-q")
        start = process_time()
        command("ingest", "-q", "-j", "1", "--no-near-duplicates")
        whole_s = process_time() - start
        place = discover(top)
        view, segments = current_view(place)
        start = process_time()
        for segment in segments:
            encode_signatures(segment)
        signatures_s = process_time() - start
        hooks = Hooks(print, print, lambda: WriterLock(place.kb_dir + "/lock", "bench"))
        new = {id_[:16] for id_ in view.part(0, view.n_documents).entry_ids()}
        near.near_duplicates(place.kb_dir, view, segments, new, hooks)
        start = process_time()
        near.near_duplicates(place.kb_dir, view, segments, new, hooks)
        search_s = process_time() - start
        n_compared, true, found = compare(place.kb_dir, view, segments, n_most, hooks)
        share = (signatures_s + search_s) / whole_s
        recall = len(true & found) / len(true) if true else 1.0
        name = os.path.basename(os.path.abspath(repo))
        print(
            f"{name:10}  {view.n_live:8}  {n_compared:8}  {len(true):10}  {len(true & found):5}  {recall:.4f}"
            f"  {whole_s:12.1f}  {signatures_s:10.2f}  {search_s:6.2f}  {share:5.3f}",
            flush=True,
        )
        assert found <= true, "what is told is compared exactly"
        os.chdir(ROOT)


def command(*arguments):
    env = process_env()
    code = run(list(arguments), env)
    env.close()
    assert code == 0, arguments


def compare(kb_dir, view, segments, n_most, hooks):
    """Return (sections compared, pairs of kbids that are near-duplicates, those that are told), of every k-th section."""
    sets = {}
    for segment in segments:
        names = {chr(code): term for term, code, _ in segment.all_terms()}
        for ordinal in range(segment.n_entries):
            if chars := body_terms(segment, ordinal):
                sets[segment.entry_id(ordinal)[:16]] = frozenset(map(names.__getitem__, chars))
    kbids = sorted(sets)[:: max(1, -(-len(sets) // n_most))]
    order = sorted(kbids, key=lambda kbid: len(sets[kbid]))
    true = set()
    for n, a in enumerate(order):
        own, most = sets[a], len(sets[a]) / THRESHOLD
        for b in order[n + 1 :]:
            other = sets[b]
            if len(other) > most:
                break
            n_shared = len(own & other)
            if n_shared >= THRESHOLD * (len(own) + len(other) - n_shared):
                true.add(frozenset((a, b)))
    # Told without the limits of what is printed.
    near.MAX_PAIRS = near.MAX_GROUP_PAIRS = 10**9
    told = near.near_duplicates(kb_dir, view, segments, set(kbids), hooks).pairs
    chosen = set(kbids)
    return len(kbids), true, {frozenset((p.new, p.other)) for p in told if p.new in chosen and p.other in chosen}


if __name__ == "__main__":
    main()
