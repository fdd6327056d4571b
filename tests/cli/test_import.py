"""`git kb import` of what other tools have made: what is carried, what is not and why, and that hostile input does no harm."""

import base64
import csv
import io
import json
import os
import shutil
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kb import ROOT, Kb, assert_message, files_below

from git_kb.ingest.foreign import Names, safe_name
from git_kb.model.section import encode_section, make_section, section_id

FORMS = os.path.join(ROOT, "fixtures", "import")


@pytest.fixture
def kb(tmp_path):
    made = Kb.create(tmp_path / "repo", {"mine.md": "# Mine\n\nThe hive of mine.\n"})
    made.ok("init", "-q")
    made.ok("ingest", "-q")
    made.commit("mine")
    return made


@pytest.fixture
def form(tmp_path):
    """Give a copy of one of the fixtures."""

    def copy(name):
        shutil.copytree(os.path.join(FORMS, name), tmp_path / name)
        return tmp_path / name

    return copy


def take(kb, path, *args):
    return kb.json("import", *args, str(path))


def pairs(rows, key):
    return {row["from"]: row[key] for row in rows}


def imported(kb):
    directory = os.path.join(kb.top, "kb", "raw", "imported")
    return files_below(directory) if os.path.isdir(directory) else {}


# kb/ trees


def test_a_kb_tree(kb, form):
    top = form("kb-tree")
    data = take(kb, top)
    assert (data["kind"], data["name"], data["documents"], data["sections"], data["conflicts"]) == ("kb-tree", "kb-tree", 5, 8, [])
    files = imported(kb)
    assert set(files) == {
        "kb-tree/raw/changed.md", "kb-tree/raw/docs--guide.md", "kb-tree/raw/unlisted.txt", "kb-tree/raw/media/docs--guide.md--hive.png",
        "kb-tree/wiki/concepts/feeding.md", "kb-tree/wiki/sources/docs--guide.md",
    }  # fmt: skip
    for name, content in files.items():
        assert content == (top / "kb" / name.removeprefix("kb-tree/")).read_bytes()
    assert pairs(data["not_carried"], "reason") == {
        ".kb-lock": "it is a lock",
        "output/concept-graph.md": "it is generated output",
        "wiki/index.md": "it is a generated index page",
        "gone": "'.kb-manifest.json' lists it, but its file below raw/ is not there",
    }
    assert set(pairs(data["warnings"], "warning")) == {"raw/changed.md", "raw/unlisted.txt"}
    (media,) = [c for c in data["carried"] if c["docid"] is None]
    assert media["path"].endswith(".png")
    # It is cited like anything else, and its tags count.
    (hit,) = json.loads(kb.ok("search", "--json", "fondant tag:spring"))["results"]
    assert kb.ok("show", hit["citation"]).count("Ours take fondant.") == 1
    kb.check()
    assert kb.json("ingest")["unchanged"] == 6
    kb.git("add", "-A")
    assert len(kb.git("ls-files", "kb/raw/imported").splitlines()) == 6


@pytest.mark.parametrize("below", ["", "kb"])
def test_where_a_kb_tree_may_be(kb, form, below):
    assert take(kb, form("kb-tree") / below)["name"] == "kb-tree"


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"sources": 1}', '{"version": 2, "sources": []}', "[" * 100_000, "\xff"])
def test_a_manifest_that_makes_no_sense(kb, form, text):
    top = form("kb-tree")
    (top / "kb" / ".kb-manifest.json").write_bytes(text.encode("latin-1"))
    assert_message(kb.run("import", str(top)), 128, ".kb-manifest.json")
    assert imported(kb) == {}


@pytest.mark.parametrize(
    "entry",
    [1, {}, {"path": 1}, {"path": "../../etc/passwd", "slug": "../x"}, {"path": "/etc/passwd", "hash": []}, {"path": "x" * 9999}],
)
def test_entries_that_make_no_sense(kb, form, entry):
    top = form("kb-tree")
    (top / "kb" / ".kb-manifest.json").write_text(json.dumps({"version": 1, "sources": [entry]}))
    assert len(take(kb, top)["carried"]) == 6
    assert set(imported(kb)) == {c["path"].removeprefix("kb/raw/imported/") for c in take(kb, top)["carried"]}


def test_links_and_odd_files_are_not_followed(kb, form, tmp_path):
    top = form("kb-tree")
    (tmp_path / "secret.md").write_text("# Secret\n")
    os.symlink(tmp_path / "secret.md", top / "kb/raw/secret.md")
    os.symlink(tmp_path, top / "kb/raw/up")
    os.mkfifo(top / "kb/raw/pipe.md")
    (top / "kb/raw/.git").mkdir()
    (top / "kb/raw/sub/.git").mkdir(parents=True)
    (top / "kb/raw/sub/.git/config").write_text("x\n")
    data = take(kb, top)
    reasons = pairs(data["not_carried"], "reason")
    assert reasons["raw/secret.md"] == reasons["raw/up"] == "it is a symbolic link"
    assert reasons["raw/pipe.md"] == "it is a named pipe"
    assert reasons["raw/sub/.git/config"] == "git does not allow its name"
    assert not any("ecret" in name or ".git" in name for name in imported(kb))


def test_files_that_cannot_be_sources(kb, form):
    top = form("kb-tree")
    config = json.loads(kb.read("kb.config.json"))
    config["sources"]["max_file_bytes"] = 2000
    kb.write("kb.config.json", json.dumps(config))
    (top / "kb/raw/large.md").write_text("x" * 3000)
    (top / "kb/raw/binary.md").write_bytes(bytes(100))
    (top / "kb/raw/empty.md").write_bytes(b"\n\n")
    (top / "kb/raw/paper.pdf").write_bytes(b"%PDF-1.4\n")
    reasons = pairs(take(kb, top)["not_carried"], "reason")
    assert reasons["raw/large.md"] == "it is larger than 2000 bytes (sources.max_file_bytes)"
    assert reasons["raw/binary.md"] == "it is binary"
    assert reasons["raw/empty.md"] == "it is empty"
    assert "needs converting" in reasons["raw/paper.pdf"]
    kb.check()


# .kbdb folders


@pytest.mark.parametrize("below", ["", ".kbdb"])
def test_a_kbdb_folder(kb, form, below):
    top = form("kbdb")
    (top / ".kbdb" / "indexes").mkdir()
    (top / ".kbdb" / "indexes" / "terms.idx").write_bytes(b"\0\1")
    data = take(kb, top / below)
    assert (data["kind"], data["name"], data["documents"]) == ("kbdb", "kbdb", 4)
    overview, weighing = "j2w3lxr4rsbf362ticvrdimh2i", "awyrjgje5hgqran3qlht3djx24"
    assert data["kbids_kept"] == 4
    assert data["kbids_changed"] == ["abcdefghijklmnopqrstuvwxyz", weighing]
    kept = kb.ok("ls-sections", "--format", "{kbid}").split()
    # With the bytes they had there.
    assert overview in kept
    assert kb.ok("cat-section", "-p", overview).strip() == "# Overview\n\nThe apiary has five hives."
    text = imported(kb)["kbdb/documents/doc-1.md"].decode()
    pieces = ["title: The apiary", "source_path: /srv/docs/overview.md", "# Overview", "## Weighing", "[A record](<doc-1/003-", "![The stand](<doc-1/004-",
              "A stand of oak for two hives.", "# Swapped"]  # fmt: skip
    places = [text.rindex(piece) for piece in pieces]
    assert places == sorted(places)
    picture = next(name for name in imported(kb) if name.endswith(".png"))
    assert imported(kb)[picture].startswith(b"\x89PNG")
    reasons = pairs(data["not_carried"], "reason")
    assert reasons["indexes/terms.idx"] == "it is an index, a cache"
    assert reasons["sections/zz/nonsense.sec"] == "it has no head that '---' ends"
    assert reasons["section missingmissingmissingmissi of document doc-1"] == "the folder does not have it"
    warnings = pairs(data["warnings"], "warning")
    assert warnings["sections/ab/cdefghijklmnopqrstuvwxyz.sec"].startswith("its content is not what its name says")
    for query in ("oak stand", "drones autumn", "moths August", "mass_kg", "tag:apiary hives"):
        assert kb.hits(query), query
    kb.check()


def write_kbdb(top, sections, documents):
    """Write a folder. sections: (mime, content, keys of the head); documents: docid -> kbids."""
    kbids = []
    for mime, content, head in sections:
        kbid = section_id(encode_section(make_section(mime, content)))
        kbids.append(kbid)
        path = top / "sections" / kbid[:2] / f"{kbid[2:]}.sec"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f'kbid = "{kbid}"', f'type = "{mime}"', *(f"{k} = {json.dumps(v)}" for k, v in head.items())]
        path.write_bytes(("\n".join(lines) + "\n---\n").encode() + content)
    (top / "sections").mkdir(parents=True, exist_ok=True)
    (top / "documents").mkdir(parents=True, exist_ok=True)
    for docid, members in documents.items():
        rows = "".join(f'[[sections]]\nkbid = "{kbids[n]}"\nposition = {at}\n' for at, n in enumerate(members))
        (top / "documents" / f"{safe_name(docid)}.toml").write_text(f"[document]\ndocid = {json.dumps(docid)}\n{rows}")
    (top / "catalog.toml").write_text("[database]\nversion = 1\n")
    return kbids


WORDS = st.text(st.sampled_from("abc é\n-`$("), min_size=1, max_size=40).map(
    lambda t: "x" + " ".join(t.replace("-", " ").split()) + "x"
)
SECTIONS = st.tuples(
    st.sampled_from(["text/markdown", "text/plain", "application/json", "text/html"]),
    st.sampled_from(["", "# Heading\n\n"]),
    WORDS,
    st.fixed_dictionaries({}, optional={"title": WORDS, "tags": st.lists(st.sampled_from(["a", "b c"]), max_size=2)}),
)


@settings(max_examples=15)
@given(
    st.lists(SECTIONS, min_size=1, max_size=5),
    st.lists(st.tuples(st.text(min_size=1, max_size=8), st.lists(st.integers(0, 4), max_size=4)), max_size=3),
)
def test_no_word_of_a_kbdb_is_lost(tmp_path_factory, sections, documents):
    """Whatever a folder holds, each section's words are in some section here, and the report adds up."""
    top = tmp_path_factory.mktemp("kbdb")
    written = [(mime, (lead * (mime == "text/markdown") + words).encode(), head) for mime, lead, words, head in sections]
    named = {docid: [n for n in members if n < len(written)] for docid, members in documents if docid.isprintable()}
    kbids = write_kbdb(top / "db.kbdb", written, named)
    kb = Kb.create(top / "repo", {})
    kb.ok("init", "-q")
    data = take(kb, top / "db.kbdb")
    assert data["kbids_kept"] + len(data["kbids_changed"]) == len(set(kbids))
    contents = [kb.ok("cat-section", "-p", kbid) for kbid in kb.ok("ls-sections", "--format", "{kbid}").split()]
    for _, content, _ in written:
        words = content.decode().rpartition("\n\n")[2]
        assert any(words in text for text in contents), words
    here = set(kb.ok("ls-sections", "--format", "{kbid}").split())
    assert {k for k in kbids if k in here} == set(kbids) - set(data["kbids_changed"])
    assert take(kb, top / "db.kbdb")["sections_new"] == 0
    errors = json.loads(kb.run("fsck", "--json").out)["errors"]
    assert {e["type"] for e in errors} <= {"broken_reference"}
    shutil.rmtree(top)


def test_markers_that_name_something_else_here_are_told(kb, tmp_path):
    (moved,) = write_kbdb(tmp_path / "one.kbdb", [("text/markdown", b"No heading.", {"title": "T"})], {})
    shutil.rmtree(tmp_path / "one.kbdb")
    content = f"# A\n\n$(doc-link: doc-1) $(text: {moved})".encode()
    write_kbdb(
        tmp_path / "two.kbdb",
        [("text/markdown", content, {}), ("text/markdown", b"No heading.", {"title": "T"})],
        {"doc-1": [0, 1]},
    )
    warnings = [w["warning"] for w in take(kb, tmp_path / "two.kbdb")["warnings"]]
    assert warnings == [
        "$(doc-link: doc-1) names a document that is 'kb--raw--imported--two.kbdb--documents--doc-1.md' here",
        f"$(text: {moved}) names a section that has another kbid here, in 'documents/doc-1.md'",
    ]


def test_a_section_of_two_documents_and_a_picture_of_none(kb, tmp_path):
    png = base64.b64encode(b"\x89PNG picture")
    sections = [("text/plain", b"Shared words.", {}), ("image/png", png, {"title": "Alone", "description": "A lonely picture."})]
    write_kbdb(tmp_path / "x.kbdb", sections, {"a": [0], "b": [0, 0]})
    data = take(kb, tmp_path / "x.kbdb")
    assert data["kbids_kept"] == 1
    texts = imported(kb)
    assert texts["x.kbdb/documents/b.md"].count(b"(<a/001-") == 2
    assert kb.hits("lonely picture")
    assert [name for name in texts if name.endswith(".txt")] == ["x.kbdb/documents/a/001-" + make_kbid(b"Shared words.") + ".txt"]
    kb.check()


def make_kbid(content):
    return section_id(encode_section(make_section("text/plain", content)))


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[database]\nversion = 2\n", "[database]\n", "a = " + "[" * 5000, "x" * 5000 + " = 1"]
)
def test_a_catalog_that_makes_no_sense(kb, form, text):
    top = form("kbdb")
    (top / ".kbdb/catalog.toml").write_text(text)
    assert_message(kb.run("import", str(top)), 128, "catalog.toml")
    assert imported(kb) == {}


HEAD = 'kbid = "{k}"\ntype = "text/markdown"\n---\nbody\n'


@pytest.mark.parametrize(("text", "why"), [
    (b"\xff\xfe---\n", "no head"),
    (b"kbid = 1\n\xff\n---\nx", "not UTF-8"),
    (b"kbid = \n---\nx", "not TOML"),
    (b'kbid = "../../x"\ntype = "text/plain"\n---\nx', "no kbid"),
    (b'kbid = "abc"\ntype = "nonsense"\n---\nx', "no MIME type"),
    (b'kbid = "abc"\n---\nx', "no MIME type"),
    (b'kbid = "abc"\ntype = "text/plain"\n---\n \n', "empty"),
    (b'kbid = "abc"\ntype = "text/plain"\n---\n\xff', "content is not UTF-8"),
    (b'kbid = "abc"\ntype = "image/png"\n---\n!!!', "not base64"),
])  # fmt: skip
def test_sections_that_make_no_sense_are_named(kb, form, text, why):
    top = form("kbdb")
    (top / ".kbdb/sections/zz/nonsense.sec").write_bytes(text)
    data = take(kb, top)
    assert any(why in row["reason"] for row in data["not_carried"]), data["not_carried"]
    assert data["kbids_kept"] == 4
    kb.check()


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[document]\n",
        '[document]\ndocid = "../../../x"\n[[sections]]\nkbid = 1\n',
        "sections = 1\n",
        "sections = [1]\n",
    ],
)
def test_documents_that_make_no_sense(kb, form, text):
    top = form("kbdb")
    (top / ".kbdb/documents/odd.toml").write_text(text)
    assert take(kb, top)["kbids_kept"] == 4
    assert all(name.startswith("kbdb/") for name in imported(kb))
    kb.check()


# Rows


def test_rows(kb, form):
    data = take(kb, form("rows"))
    assert (data["kind"], data["documents"]) == ("rows", 4)
    assert set(imported(kb)) == {
        "rows/pages/varroa.md", "rows/pages/queen-rearing.md", next(n for n in imported(kb) if "queen-rearing." in n and not n.endswith("rearing.md")),
        "rows/sources/handbook.md",
    }  # fmt: skip
    tiers = dict(line.split("\t") for line in kb.ok("ls-documents", "--format", "{source}\t{tier}").splitlines())
    assert tiers["kb/raw/imported/rows/pages/varroa.md"] == "S"
    assert tiers["kb/raw/imported/rows/sources/handbook.md"] == "A"
    assert kb.hits("tag:mites summer")
    assert kb.hits("tag:queens larvae")
    text = imported(kb)["rows/sources/handbook.md"].decode()
    assert "url: https://example.org/handbook\n" in text
    assert "meta:\n  pages: 12\n" in text
    reasons = pairs(data["not_carried"], "reason")
    assert set(reasons) == {
        "kb_pages.csv row 1, embedding",
        "kb_pages.csv row 2",
        "kb_pages.csv row 5",
        "kb_sources.jsonl row 2",
        "kb_sources.jsonl row 3",
    }
    kb.check()
    assert take(kb, os.path.join(FORMS, "rows"))["sections_new"] == 0


def database(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(*((statement,) if isinstance(statement, str) else statement))
    connection.commit()
    connection.close()


def test_rows_of_sqlite(kb, tmp_path):
    database(
        tmp_path / "kb.db",
        "CREATE TABLE kb_pages (slug TEXT, title TEXT, content TEXT, tier TEXT, tags TEXT, embedding BLOB)",
        (
            "INSERT INTO kb_pages VALUES (?, ?, ?, ?, ?, ?)",
            ("a/b", "Wax", "# Wax\n\nMelt it slowly.", "B", '["wax", "heat"]', b"\0" * 40),
        ),
        ("INSERT INTO kb_pages VALUES (?, ?, ?, ?, ?, ?)", (None, None, None, None, None, None)),
        "CREATE TABLE KB_SOURCES (id INTEGER, body TEXT)",
        ("INSERT INTO KB_SOURCES VALUES (?, ?)", (12, "A source on honey.")),
        "CREATE TABLE users (secret TEXT)",
    )
    data = take(kb, tmp_path / "kb.db")
    assert set(imported(kb)) == {"kb/pages/a-b.md", "kb/sources/12.md"}
    reasons = pairs(data["not_carried"], "reason")
    assert reasons["table users"] == "only kb_pages and kb_sources are carried"
    assert "kb_pages row 2" in reasons
    assert kb.hits("tag:wax slowly")
    assert sorted(os.listdir(tmp_path)) == ["kb.db", "repo"]
    kb.check()


def test_hostile_databases(kb, tmp_path):
    # A view in the place of the table, with a query that does not end.
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS content FROM n"
    database(tmp_path / "view.db", f"CREATE VIEW kb_pages AS {endless}")
    assert_message(kb.run("import", str(tmp_path / "view.db")), 128, "no table")
    database(tmp_path / "virtual.db", "CREATE VIRTUAL TABLE kb_pages USING fts5(content)")
    assert_message(kb.run("import", str(tmp_path / "virtual.db")), 128, "no table")
    database(tmp_path / "good.db", "CREATE TABLE kb_pages (content TEXT)", ("INSERT INTO kb_pages VALUES (?)", ("x" * 5000,)))
    data = (tmp_path / "good.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(data[:5000])
    assert_message(kb.run("import", str(tmp_path / "cut.db")), 128, "no SQLite database that can be read")
    os.symlink(tmp_path / "good.db", tmp_path / "link.db")
    assert take(kb, tmp_path / "link.db", "-n")["documents"] == 1
    assert imported(kb) == {}


@settings(max_examples=30)
@given(data=st.data())
def test_any_byte_of_a_database_may_be_wrong(tmp_path_factory, data):
    base = tmp_path_factory.getbasetemp() / "any-database"
    if not base.exists():
        base.mkdir()
        database(
            base / "good.db",
            "CREATE TABLE kb_pages (slug TEXT, content TEXT)",
            ("INSERT INTO kb_pages VALUES (?, ?)", ("a", "words " * 900)),
        )
        Kb.create(base / "repo", {}).ok("init", "-q")
    good = bytearray((base / "good.db").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    (base / "bad.db").write_bytes(good)
    done = Kb(str(base / "repo")).run("import", "-n", str(base / "bad.db"))
    assert done.code in (0, 128), done
    assert "Traceback" not in done.err


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.lists(st.integers(), max_size=3)
)
KEYS = st.sampled_from(
    ["slug", "title", "content", "tags", "tier", "id", "embedding", "note", "e\u0301", "a: b", "- x", "", "kb_table"]
) | st.text(max_size=5)


@settings(max_examples=40)
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=6), max_size=5))
def test_any_row_is_carried_or_named(tmp_path_factory, rows):
    top = tmp_path_factory.mktemp("rows")
    (top / "kb_pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    kb = Kb.create(top / "repo", {})
    kb.ok("init", "-q")
    data = take(kb, top / "kb_pages.jsonl", "--no-index")
    whole = {f"kb_pages.jsonl row {n}" for n in range(1, len(rows) + 1)}
    carried, left = {c["from"] for c in data["carried"]}, {c["from"] for c in data["not_carried"]} & whole
    assert carried | left == whole
    assert carried & left == set()
    assert len(imported(kb)) == len(carried)
    assert all(name.startswith("kb_pages/pages/") for name in imported(kb))
    shutil.rmtree(top)


@given(st.lists(st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=10), min_size=3, max_size=3), max_size=5))
@settings(max_examples=20)
def test_csv_that_python_writes_is_read(tmp_path_factory, rows):
    from git_kb.ingest.rows import _csv_rows

    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["slug", "content", "note"])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("csv") / "kb_pages.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    assert [list(row.values()) for row in _csv_rows(str(path))] == rows


@pytest.mark.parametrize(("name", "data", "why"), [
    ("kb_pages.csv", b"slug,content\n\"a", "not CSV"),
    ("kb_pages.csv", b"slug,content\n\xff", "not UTF-8"),
    ("kb_pages.jsonl", b"{", "line 1: it is not JSON"),
    ("kb_pages.jsonl", b"[" * 100_000, "it is not JSON"),
    ("kb_pages.json", b"{}", "no list of rows"),
    ("pages.csv", b"a\n", "neither 'kb_pages' nor 'kb_sources'"),
    ("thing.bin", b"x", "no export, table or database"),
    ("thing.db", b"SQLite format 3\0nonsense", "no SQLite database"),
])  # fmt: skip
def test_files_that_make_no_sense(kb, tmp_path, name, data, why):
    (tmp_path / name).write_bytes(data)
    assert_message(kb.run("import", str(tmp_path / name)), 128, why)
    assert imported(kb) == {}


def test_what_is_not_there_and_what_is_nothing(kb, tmp_path):
    assert_message(kb.run("import", str(tmp_path / "nothing")), 128, "cannot read")
    (tmp_path / "empty").mkdir()
    assert_message(kb.run("import", str(tmp_path / "empty")), 128, "it is no export, kb/ tree, .kbdb folder, or table")
    os.mkfifo(tmp_path / "pipe.csv")
    assert_message(kb.run("import", str(tmp_path / "pipe.csv")), 128, "cannot read")
    assert kb.run("import").code == 129
    assert_message(kb.run("import", "--name", "x", str(tmp_path / "empty")), 128)


# All forms


@pytest.mark.parametrize("name", ["kb-tree", "kbdb", "rows"])
def test_conflicts(kb, form, name):
    top = form(name)
    first = take(kb, top)
    victim = next(c["path"] for c in first["carried"] if c["docid"])
    kb.write(victim, "# Edited\n\nBy hand.\n")
    kb.ok("ingest", "-q")
    before = imported(kb), kb.manifests(), kb.pool_tree()
    done = kb.run("import", str(top))
    assert (done.code, f"warning: conflict '{victim}': it says something else here\n" in done.err) == (1, True)
    assert kb.run("import", "-n", str(top)).code == 1
    assert json.loads(kb.run("import", "--json", str(top)).out)["conflicts"] == [victim]
    assert (imported(kb), kb.manifests(), kb.pool_tree()) == before
    assert take(kb, top, "--force")["conflicts"] == [victim]
    assert b"By hand" not in kb.read(victim)
    kb.check()


@pytest.mark.parametrize("name", ["kb-tree", "kbdb", "rows"])
def test_dry_run(kb, form, name):
    top = form(name)
    before = kb.git("status", "--porcelain", "-uall"), kb.pool_tree(), kb.kb_files()
    dry = take(kb, top, "-n")
    assert (kb.git("status", "--porcelain", "-uall"), kb.pool_tree(), kb.kb_files()) == before
    wet = take(kb, top)
    assert {**dry, "sections_new": 0} == {**wet, "sections_new": 0}


@pytest.mark.parametrize("name", ["kb-tree", "kbdb", "rows"])
@pytest.mark.parametrize("where", ["kb/raw", "kb/raw/imported", "kb/raw/imported/x"])
def test_links_on_the_way_are_not_followed(kb, form, tmp_path, name, where):
    (tmp_path / "outside").mkdir()
    os.makedirs(os.path.dirname(kb.path(where)), exist_ok=True)
    os.symlink(tmp_path / "outside", kb.path(where))
    assert_message(kb.run("import", "--name", "x", str(form(name))), 128, f"'{where}' is a symbolic link")
    assert os.listdir(tmp_path / "outside") == []


def test_what_git_ignores(kb, form):
    kb.write(".gitignore", "kb/raw/\n")
    assert_message(kb.run("import", str(form("rows"))), 128, "git ignores 'kb/raw/imported/rows/")
    assert imported(kb) == {}


@pytest.mark.parametrize("name", ["../up", "a/b", ".git", "", "..", "CON", "-x", "\u202e", "x" * 300])
def test_names_stay_below(kb, form, name):
    data = take(kb, form("rows"), f"--name={name}")
    (top,) = {path.split("/")[0] for path in imported(kb)}
    assert top == data["name"]
    kb.check()


@given(st.lists(st.text(max_size=120), max_size=8))
def test_names_are_safe_and_differ(names):
    taken = Names()
    given = [taken.take("d", name, ".md") for name in names]
    assert len({path.casefold() for path in given}) == len(names)
    for path in given:
        directory, _, name = path.partition("/")
        assert directory == "d"
        assert "/" not in name
        assert not name.startswith((".", "-"))
        assert len(name.encode()) <= 130
        assert name.isprintable()


def test_in_text(kb, form):
    done = kb.run("import", str(form("kbdb")))
    assert (done.code, done.out) == (0, "")
    assert "warning: not carried 'worker.toml': it is no part of what is stored\n" in done.err
    assert (
        "kbdb 'kbdb': 5 files imported as 4 documents with 7 sections, 4 not carried; of 6 kbids 4 are the same here\n" in done.err
    )
