"""Dates of documents by git's history."""

import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kb import Kb, git

from git_kb.errors import NewerFormat
from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.model.source import path_of_source
from git_kb.store import datefile, dates
from git_kb.store.datefile import Dates, decode_dates, drop_dates, encode_dates, kept_commits, may_keep, read_dates
from git_kb.store.dates import _dates_at, _follow, _tree, changes_since
from git_kb.store.viewfile import current_view


def at(day):
    """Return the environment of a commit made on a day of January 2024, at noon UTC."""
    date = f"2024-01-{day:02}T12:00:00Z"
    return {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": date}


def commit(kb, day, *paths):
    kb.git("add", *paths)
    kb.git("commit", "-q", "-m", f"day {day}", **at(day))


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    """old.md of the 1st; new.md of the 5th, changed on the 10th; merged.md of the 7th on a branch merged on the 20th; mine.md never committed."""
    kb = Kb.create(tmp_path_factory.mktemp("dates") / "repo", {})
    kb.ok("init", "-q")
    kb.write("old.md", "# Old\n\nquince\n")
    commit(kb, 1, "old.md")
    kb.write("new.md", "# New\n\nquince\n")
    commit(kb, 5, "new.md")
    kb.git("checkout", "-q", "-b", "side")
    kb.write("merged.md", "# Merged\n\nquince\n")
    commit(kb, 7, "merged.md")
    kb.git("checkout", "-q", "main")
    kb.write("new.md", "# New\n\nquince, changed\n")
    commit(kb, 10, "new.md")
    kb.git("merge", "-q", "--no-ff", "-m", "merge", "side", **at(20))
    kb.write("mine.md", "# Mine\n\nquince\n")
    kb.ok("ingest", "-q", "old.md", "new.md", "merged.md", "mine.md")
    return kb


def found(kb, query, *arguments, **environ):
    return {c.partition("#")[0] for c in kb.hits("--limit", "99", *arguments, "--", f"quince {query}", **environ)}


CASES = [
    ("after:2024-01-02", {"new.md", "merged.md", "mine.md"}),
    ("before:2024-01-02", {"old.md"}),
    ("after:2024-01-01T12:00Z", {"old.md", "new.md", "merged.md", "mine.md"}),
    ("after:2024-01-01T12:00:01Z", {"new.md", "merged.md", "mine.md"}),
    ("before:2024-01-01T12:00Z", set()),
    ("after:2024-01-08", {"new.md", "mine.md"}),
    ("after:2024-01-06 before:2024-01-09", {"merged.md"}),
    ("before:2024", set()),
    ("after:2023", {"old.md", "new.md", "merged.md", "mine.md"}),
    ("before:2024-02", {"old.md", "new.md", "merged.md"}),
    ("-before:2024-02", {"mine.md"}),
    ("-after:2024-01-02", {"old.md"}),
    ('before:"2 days ago"', {"old.md", "new.md", "merged.md"}),
    ("after:yesterday", {"mine.md"}),
    ("before:2024-01-02 path:new.md", set()),
]


@pytest.mark.parametrize(("query", "docids"), CASES, ids=[q for q, _ in CASES])
def test_dates(kb, query, docids):
    assert found(kb, query, TZ="UTC") == docids


@pytest.mark.parametrize("bad", ["lunchtime", "2024-13-01", "2024-01-32", "123", '"\x01"', "x" * 200])
def test_what_is_no_date_is_a_word(kb, bad):
    done = kb.run("search", "--", f"quince before:{bad}")
    assert done.code == 0
    assert "is no date that git understands" in done.err
    assert len(done.out.splitlines()) >= 3 * 4


def test_a_local_edit_counts_as_now(kb):
    kb.write("old.md", "# Old\n\nquince, edited\n")
    kb.ok("ingest", "-q", "old.md")
    try:
        assert "old.md" in found(kb, "after:2024-06")
    finally:
        kb.git("checkout", "-q", "old.md")
        kb.ok("ingest", "-q", "old.md")
    assert "old.md" not in found(kb, "after:2024-06")


def test_a_document_older_than_its_source_has_the_date_of_what_it_was_made_of(kb, tmp_path):
    copy = tmp_path / "copy"
    git("clone", "-q", kb.top, str(copy), cwd="/")
    mine = Kb(copy)
    mine.ok("init", "-q")
    mine.ok("ingest", "-q", "old.md")
    mine.write("old.md", "# Old\n\nquince of today\n")
    mine.git("commit", "-q", "-a", "-m", "newer", GIT_COMMITTER_DATE="2024-03-01T12:00:00Z")
    assert "old.md" in found(mine, "before:2024-01-02")


def test_a_repository_without_commits(tmp_path):
    kb = Kb.create(tmp_path / "repo", {})
    kb.ok("init", "-q")
    kb.write("a.md", "# A\n\nquince\n")
    kb.ok("ingest", "-q", "a.md")
    assert found(kb, "after:2024") == {"a.md"}
    assert found(kb, "before:2024") == set()


def test_at_a_revision_its_own_history_counts(kb):
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "knowledge base", **at(25))
    kb.write("old.md", "# Old\n\nquince, edited\n")
    kb.git("commit", "-q", "-a", "-m", "later", **at(28))
    kb.ok("ingest", "-q", "old.md")
    assert found(kb, "before:2024-01-02", "--at", "HEAD") == {"old.md"}
    assert found(kb, "before:2024-01-02") == set()
    assert found(kb, "after:2024-01-24", "--at", "HEAD") == {"mine.md"}


def test_dates_are_those_of_git_log(tmp_path):
    """The same change on two branches, a revert, a merge that changes a file itself, paths with odd names."""
    kb = Kb.create(tmp_path / "repo", {})
    kb.ok("init", "-q")
    names = ["a.md", "b.md", "c.md", "\x01d.md", ":e.md", "f\n.md"]
    for name in names:
        kb.write(name, "# One\n\nquince 1\n")
    commit(kb, 1, ".")
    kb.git("checkout", "-q", "-b", "side")
    kb.write("a.md", "# One\n\nquince 2\n")
    kb.write("b.md", "# One\n\nquince 2\n")
    commit(kb, 2, ".")
    kb.write("b.md", "# One\n\nquince 1\n")
    kb.write("c.md", "# One\n\nquince side\n")
    kb.write(":e.md", "# One\n\nquince 2\n")
    commit(kb, 3, ".")
    kb.git("checkout", "-q", "main")
    kb.write("a.md", "# One\n\nquince 2\n")
    kb.write("c.md", "# One\n\nquince main\n")
    commit(kb, 4, ".")
    kb.git("merge", "-q", "--no-commit", "side", check=False)
    kb.write("c.md", "# One\n\nquince both\n")
    commit(kb, 5, ".")
    kb.write("\x01d.md", "# One\n\nquince 2\n")
    commit(kb, 6, ".")
    kb.ok("ingest", "-q", *names)
    view, _ = current_view(kb.place())
    documents = list(view.documents())
    when = changes_since(kb.place(), "HEAD", documents, 0)
    for d in documents:
        path = os.fsdecode(path_of_source(d.source))
        expected = kb.git("log", "-1", "--format=%ct", "--", path, GIT_LITERAL_PATHSPECS="1")
        assert when[d.name] == int(expected), path
        assert d.name in changes_since(kb.place(), "HEAD", documents, int(expected))
        assert d.name not in changes_since(kb.place(), "HEAD", documents, int(expected) + 1)


@st.composite
def histories(draw):
    """Steps of a history: (kind, file, content, which branch), on a main line and two others that are merged."""
    step = st.tuples(
        st.sampled_from(["edit", "edit", "edit", "branch", "merge", "remove"]),
        st.sampled_from(["a.md", "b.md", "d/c.md"]),
        st.integers(0, 2),
        st.sampled_from(["main", "one", "two"]),
    )
    return draw(st.lists(step, min_size=3, max_size=14)), draw(st.lists(st.integers(0, 14), max_size=3))


def play(top, steps):
    """Make the commits of a history; return those of the main line, oldest first. The clock goes forward."""
    kb = Kb.create(top, {"a.md": "0\n", "b.md": "0\n", "d/c.md": "0\n"})
    made = [kb.git("rev-parse", "HEAD")]
    for n, (kind, name, content, branch) in enumerate(steps):
        when = {"GIT_COMMITTER_DATE": f"2030-01-01T00:{n:02}:00Z"}
        exists = kb.git("rev-parse", "-q", "--verify", f"refs/heads/{branch}", check=False)
        if kind == "branch" and branch != "main":
            kb.git("checkout", "-q", "main")
            kb.git("branch", "-f", branch, "main")
        elif kind == "merge" and branch != "main" and exists:
            kb.git("checkout", "-q", "main")
            kb.git("merge", "-q", "--no-ff", "-X", "ours" if content else "theirs", "-m", "merge", branch, check=False, **when)
            if kb.git("status", "--porcelain"):
                kb.git("add", "-A")
                kb.git("commit", "-q", "-m", "settled", **when)
        elif kind in ("edit", "remove") and exists:
            kb.git("checkout", "-q", branch)
            if kind == "edit":
                kb.write(name, f"{content}\n")
            elif os.path.exists(kb.path(name)):
                os.unlink(kb.path(name))
            kb.git("add", "-A")
            kb.git("commit", "-q", "--allow-empty", "-m", "step", **when)
        made.append(kb.git("rev-parse", "main"))
    return kb, list(dict.fromkeys(made))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_what_is_kept_gives_the_dates_of_a_whole_walk(history):
    """However often it was asked in between, of whichever commit, the dates are those of a walk from the start."""
    steps, asked = history
    with tempfile.TemporaryDirectory() as top:
        kb, made = play(os.path.join(top, "repo"), steps)
        place = kb.place()
        for n in [*sorted({min(n, len(made) - 1) for n in asked}), len(made) - 1]:
            commit = made[n]
            expected = {p: when for (p, _), when in _follow(place, commit, _tree(place, commit), 0).items()}
            assert set(expected) == set(_tree(place, commit))
            assert _dates_at(place, commit, 0).dates == expected
            kept = read_dates(place, commit)
            assert (kept.dates, kept.blobs) == (expected, _tree(place, commit))


def test_a_later_floor_does_not_answer_for_an_earlier_date(tmp_path):
    kb, made = play(tmp_path / "repo", [("edit", "a.md", 1, "main"), ("edit", "b.md", 1, "main")])
    place, head = kb.place(), made[-1]
    noon = _dates_at(place, head, 0.0).dates[b"b.md"]
    drop_dates(place.kb_dir)
    late = _dates_at(place, head, noon)
    assert (read_dates(place, head).floor, late.dates) == (noon, {b"b.md": noon})
    early = _dates_at(place, head, 0.0)
    assert early.dates[b"a.md"] == noon - 60
    assert read_dates(place, head).floor == 0
    assert _dates_at(place, head, noon).dates == early.dates


def test_a_second_question_and_one_after_a_commit_read_no_whole_history(tmp_path, monkeypatch):
    kb = Kb.ready(tmp_path / "repo", {"a.md": "# A\n\nquince\n", "b.md": "# B\n\nquince\n"})
    assert len(found(kb, "after:2000")) == 2

    def refuse(*_):
        raise AssertionError("the whole history is read again")

    monkeypatch.setattr(dates, "_follow", refuse)
    assert len(found(kb, "after:2000")) == 2
    kb.write("a.md", "# A\n\nquince again\n")
    kb.ok("ingest", "-q")
    kb.commit("more")
    assert len(found(kb, "after:2000")) == 2
    assert found(kb, "before:2000") == set()


def test_where_ids_do_not_say_the_history_nothing_is_kept(kb, tmp_path):
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth=1", f"file://{kb.top}", str(shallow), cwd="/")
    for top, harm in ((shallow, None), (kb.top, "refs/replace")):
        mine = Kb(top)
        if harm:
            drop_dates(mine.place().kb_dir)
            mine.git("replace", "HEAD", "HEAD~1")
        assert not may_keep(mine.place())
        _dates_at(mine.place(), mine.git("rev-parse", "HEAD"), 0.0)
        assert kept_commits(mine.place()) == []
        if harm:
            mine.git("replace", "-d", "HEAD")
            mine.git("pack-refs", "--all")


def test_only_so_many_are_kept_and_a_read_only_directory_is_no_fault(kb, monkeypatch):
    place = kb.place()
    monkeypatch.setattr(datefile, "MAX_FILES", 2)
    shutil.rmtree(os.path.join(place.kb_dir, datefile.DIRECTORY), ignore_errors=True)
    for rev in ("HEAD~2", "HEAD~1", "HEAD"):
        _dates_at(place, kb.git("rev-parse", rev), 0.0)
    assert len(kept_commits(place)) == 2
    shutil.rmtree(os.path.join(place.kb_dir, datefile.DIRECTORY))
    kb.write(".git/kb/dates", "in the way")
    assert _dates_at(place, kb.git("rev-parse", "HEAD"), 0.0).dates
    os.unlink(kb.path(".git/kb/dates"))


PATHS = st.dictionaries(
    st.binary(min_size=1, max_size=9).filter(lambda path: b"\0" not in path),
    st.tuples(st.binary(min_size=20, max_size=20), st.none() | st.integers(0, 1 << 40)),
    max_size=6,
)


@given(PATHS, st.floats(0, 1e12))
def test_what_is_kept_reads_back(paths, floor):
    known = Dates(
        floor, {p: oid.hex() for p, (oid, _) in paths.items()}, {p: float(d) for p, (_, d) in paths.items() if d is not None}
    )
    data = encode_dates(known)
    read = decode_dates("x", data)
    assert (read.floor, read.blobs, read.dates) == (known.floor, known.blobs, known.dates)
    for at in (0, 60, 4097, len(data) - 1):
        with pytest.raises((DamagedSegment, NewerFormat, OtherFeature)):
            decode_dates("x", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_sections_new_since_a_revision(tmp_path):
    kb = Kb.ready(tmp_path / "repo", {"a.md": "# A\n\nquince\n\n## B\n\nquince jam\n", "c.md": "# C\n\nquince tree\n"})
    assert kb.run("search", "--since", "HEAD", "quince").code == 1
    kb.write("a.md", "# A\n\nquince\n\n## B\n\nquince jelly\n")
    kb.write("d.md", "# A\n\nquince\n\n## E\n\nquince cake\n")
    kb.ok("ingest", "-q")
    kb.git("rm", "-q", "--cached", "-r", "kb/documents/c.md.toml")
    kb.write("kb/documents/c.md.toml", b"")
    texts = [r["snippet"].rpartition(" ")[2] for r in kb.json("search", "--since", "HEAD", "quince")["results"]]
    assert sorted(texts) == ["cake", "jelly"]
    kb.git("checkout", "-q", "HEAD", "kb/documents/c.md.toml")
    old = kb.git("rev-parse", "HEAD")
    kb.commit("more")
    for arguments in (
        ["--since", old],
        ["--since", old, "--at", "HEAD"],
        ["--since", old, "--cached"],
        ["--since", f"{old}^{{tree}}"],
    ):
        texts = [r["snippet"].rpartition(" ")[2] for r in kb.json("search", *arguments, "quince")["results"]]
        assert sorted(texts) == ["cake", "jelly"], arguments
    assert kb.run("search", "--since", "HEAD", "--at", "HEAD", "quince").code == 1
    texts = [r["snippet"].rpartition(" ")[2] for r in kb.json("search", "--since", "HEAD", "--at", old, "quince")["results"]]
    assert texts == ["jam"]
    listed = [(r["source"], r["line"]) for r in kb.json("search", "--since", old)["results"]]
    assert listed == sorted((r["source"], r["line"]) for r in kb.json("search", "--since", old, "quince")["results"])
    assert kb.run("search", "--since", "HEAD", "--at", "HEAD").code == 1
    stats = kb.json("search", "--mode", "stats", "--since", old, "quince")
    assert stats["total_matches"] == 2
    assert kb.run("search", "--since", "nope", "quince").err.startswith("fatal: unknown revision 'nope'")


def test_a_revision_before_the_knowledge_base_had_no_sections(tmp_path):
    kb = Kb.ready(tmp_path / "repo", {"a.md": "# A\n\nquince\n"})
    done = kb.run("search", "--since", "HEAD~1", "quince")
    assert done.code == 0
    assert done.err == "there was no knowledge base at 'HEAD~1': all sections are new since\n"
