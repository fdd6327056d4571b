"""git kb ls-segments and dump-segment."""

import json
import os

import pytest
from kb import Kb, assert_message


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def lines(text):
    return text.splitlines()


def segments_of(kb):
    return [json.loads(line) for line in lines(kb.ok("ls-segments", "--json"))]


def damage(kb, name):
    path = kb.path(f".git/kb/segments/{name}")
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def test_segments_are_listed(kb):
    (first,) = segments_of(kb)
    assert first["entries"] == len(lines(kb.ok("ls-sections")))
    assert first["bytes"] == os.path.getsize(kb.path(f".git/kb/segments/{first['segment']}"))
    assert first["state"] == "ok"
    kb.write("b.md", "# B\n\nBee.\n")
    kb.ok("ingest", "-q")
    kb.ok("ls-segments", "--verify")
    assert kb.ok("ls-segments", "-z", "--format", "{segment}") == "".join(s["segment"] + "\0" for s in segments_of(kb))


def test_without_an_index_there_are_none(tmp_path):
    kb = Kb.create(tmp_path / "repo")
    kb.ok("init")
    assert kb.ok("ls-segments") == ""


def test_damage_is_named(kb):
    (first,) = segments_of(kb)
    damage(kb, first["segment"])
    done = kb.run("ls-segments", "--verify", "--json")
    assert done.code == 1
    assert "is damaged" in json.loads(done.out)["state"]
    assert first["segment"] in done.err
    os.unlink(kb.path(f".git/kb/segments/{first['segment']}"))
    done = kb.run("ls-segments", "--json")
    assert (done.code, json.loads(done.out)["state"]) == (1, "missing")
    assert_message(kb.run("dump-segment", "seg-"), 1, "is missing")
    kb.ok("index", "-q")
    kb.ok("ls-segments", "--verify")


def test_a_segment_tells_what_it_holds(kb):
    (first,) = segments_of(kb)
    name = first["segment"]
    summary = dict(line.split("\t")[:2] for line in lines(kb.ok("dump-segment", name[:8])))
    assert (int(summary["entries"]), int(summary["terms"])) == (first["entries"], first["terms"])
    entries = [json.loads(line) for line in lines(kb.ok("dump-segment", "seg", "--entries", "--json"))]
    assert sorted(e["kbid"] for e in entries) == sorted(lines(kb.ok("ls-sections", "--format", "{kbid}")))
    terms = [json.loads(line) for line in lines(kb.ok("dump-segment", name, "--terms", "--json"))]
    assert len(terms) == first["terms"]
    assert [t["term"] for t in terms] == sorted((t["term"] for t in terms), key=str.encode)
    held = {t["term"]: set() for t in terms}
    for entry in entries:
        for line in lines(kb.ok("dump-segment", name, "--tokens", str(entry["ordinal"]), "--json")):
            field = json.loads(line)
            assert len(field["terms"]) == entry["lengths"][("heading", "body", "code").index(field["field"])]
            for term in field["terms"]:
                held[term].add(entry["kbid"])
    assert {t["term"]: t["entries"] for t in terms} == {term: len(kbids) for term, kbids in held.items()}
    listed = [json.loads(line) for line in lines(kb.ok("dump-segment", name, "--postings", "syrup", "--json"))]
    assert {p["kbid"] for p in listed} == held["syrup"]
    assert all(1 <= p["impact"] <= 255 for p in listed)
    assert {t.split("\t")[0] for t in lines(kb.ok("dump-segment", name, "--terms", "sy"))} == {
        t for t in held if t.startswith("sy")
    }


def test_what_is_no_segment(kb):
    name = segments_of(kb)[0]["segment"]
    assert_message(kb.run("dump-segment", "nope"), 1, "no segment 'nope'", "ls-segments")
    assert_message(kb.run("dump-segment", "notes.txt"), 1, "'notes.txt' is no segment")
    assert_message(kb.run("dump-segment", "."), 1, "'.' is no segment")
    assert_message(kb.run("dump-segment", name, "--postings", "zebra"), 1, "holds the term 'zebra'")
    assert_message(kb.run("dump-segment", name, "--tokens", "99999"), 1, "has no entry 99999")
    assert_message(kb.run("dump-segment", name, "--tokens=-1"), 1, "has no entry -1")
    assert_message(kb.run("dump-segment"), 129, "SEGMENT")
    by_path = kb.ok("dump-segment", f".git/kb/segments/{name}")
    assert by_path == kb.ok("dump-segment", name)


def test_a_term_never_reaches_the_terminal_raw(tmp_path):
    """What was ingested cannot steer a terminal through a dump."""
    kb = Kb.create(tmp_path / "repo", {"a.md": "# A\n\nesc\u009b31m \u202eabc\n"})
    kb.ok("init")
    kb.ok("ingest", "-q")
    out = kb.ok("dump-segment", "seg", "--terms")
    assert not any(c in out for c in "\u009b\u202e\x1b")


def test_what_a_segment_lacks_is_not_looked_for_among_segments(kb):
    assert_message(
        kb.run("dump-segment", "seg-", "--postings", "nosuchword"), 1, "holds the term 'nosuchword'", "hint: terms are stems"
    )
    for ordinal in ("999", "-1"):
        assert_message(
            kb.run("dump-segment", "seg-", f"--tokens={ordinal}"), 1, f"no entry {ordinal}", "hint: --entries lists them"
        )
