"""`git kb export` and `import` of what it wrote: byte-identical ids, for any commit; hostile and damaged exports write nothing."""

import hashlib
import json
import os
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kb import CORPUS, Kb, assert_message, files_below, git

FILES = {
    **CORPUS,
    "front.md": "---\ntitle: Front\ntags: [a, b]\n---\n\n# Front\n\nFront matter is stored.\n",
    "latin.txt": "caf\xe9 d\xe9j\xe0 vu\n".encode("latin-1"),
    "sp ace/Ünïcödé.md": "# Ünïcödé\n\nWords.\n",
    "same.md": CORPUS["notes.txt"],
}
QUERIES = ("swarm", "hive", "syrup spring", "words", "front")


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo", FILES)


def fresh(path, object_format="sha1"):
    kb = Kb.create(path, {}, object_format)
    kb.ok("init", "-q")
    return kb


def answers(kb, *at):
    """Return all that a reader sees of a state, but for blob ids: those differ between SHA-1 and SHA-256."""
    rows = [json.loads(line) for line in kb.ok("ls-sections", "--json", *at).splitlines()]
    hits = []
    for query in QUERIES:
        data = json.loads(kb.run("search", "--json", "--limit", "100", *at, query).out)
        hits.append([{k: r[k] for k in ("kbid", "citation", "source", "line", "score", "snippet")} for r in data["results"]])
    return [{k: v for k, v in row.items() if k != "blob"} for row in rows], hits


def without_blobs(manifests):
    return {name: [line for line in data.splitlines() if not line.startswith(b"blob = ")] for name, data in manifests.items()}


def assert_same(kb, other, *at):
    assert answers(other) == answers(kb, *at)
    other.check()
    other.git("add", "-A")
    other.check()
    assert other.run("status", "--json").code == 0


# Round trips


@pytest.mark.parametrize("formats", [("sha1", "sha1"), ("sha256", "sha256"), ("sha1", "sha256"), ("sha256", "sha1")])
def test_a_directory_comes_back(tmp_path, formats):
    kb = Kb.ready(tmp_path / "repo", FILES, formats[0])
    data = kb.json("export", str(tmp_path / "out"))
    assert (data["kind"], data["documents_exported"], data["sources_exported"]) == ("directory", 7, 6)
    other = fresh(tmp_path / "other", formats[1])
    report = other.json("import", str(tmp_path / "out"))
    assert (len(report["documents"]), len(report["sources"]), report["conflicts"]) == (7, 7, [])
    assert_same(kb, other)
    assert without_blobs(other.manifests()) == without_blobs(kb.manifests())
    if formats[0] == formats[1]:
        assert other.manifests() == kb.manifests()
        assert other.pool_tree() == kb.pool_tree()
    for name in FILES:
        assert other.read(name) == kb.read(name)
    # Once more changes nothing.
    before = files_below(os.path.join(other.top, "kb"))
    again = other.json("import", str(tmp_path / "out"))
    assert (again["documents"], again["documents_unchanged"], again["sources"], again["sections_new"]) == ([], 7, [], 0)
    assert files_below(os.path.join(other.top, "kb")) == before


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_bundle_comes_back(tmp_path, object_format):
    kb = Kb.ready(tmp_path / "repo", FILES, object_format)
    kb.git("tag", "-a", "-m", "v1", "v1")
    kb.write("docs/guide.md", "# Guide\n\nAnother guide.\n")
    kb.ok("ingest", "-q")
    kb.commit("second")
    for at in ([], ["--at", "v1"], ["--at", "HEAD~1"]):
        path = str(tmp_path / f"out{len(at)}{at[-1:]}.bundle")
        assert kb.json("export", *at, path)["kind"] == "bundle"
        kb.git("bundle", "verify", "-q", path)
        other = fresh(tmp_path / f"other{len(at)}{at[-1:]}", object_format)
        assert len(other.json("import", path)["documents"]) == 7
        assert_same(kb, other, *at)
    clone = Kb(str(tmp_path / "clone"))
    git("clone", "-q", str(tmp_path / "out0[].bundle"), clone.top, cwd=tmp_path)
    assert clone.hits("another") == kb.hits("another")


def test_a_bundle_of_another_object_format(tmp_path, kb):
    kb.ok("export", str(tmp_path / "out.bundle"))
    other = fresh(tmp_path / "other", "sha256")
    assert_message(other.run("import", str(tmp_path / "out.bundle")), 128, "sha1 repository", "sha256")


TEXTS = st.lists(
    st.sampled_from(
        ["# Hive\n", "## Swarm\n", "\n", "The swarm leaves.\n", "Words, words.\n", "```\ncode\n```\n", "é\n", "front [a](b.md)\n"]
    ),
    min_size=1,
    max_size=12,
).map(lambda lines: "# Title\n\n" + "".join(lines))
NAMES = st.sampled_from(["a.md", "b.txt", "d/a.md", "d/e/ü.md", "-x.md", "d--e.md"])
N_EXAMPLES = int(os.environ.get("KB_ROUND_TRIPS", "3"))


@settings(max_examples=N_EXAMPLES)
@given(
    st.lists(st.dictionaries(NAMES, st.none() | TEXTS, min_size=1, max_size=4), min_size=1, max_size=3),
    st.sampled_from(["sha1", "sha256"]),
)
def test_every_commit_comes_back(tmp_path_factory, history, object_format):
    top = tmp_path_factory.mktemp("trip")
    kb = Kb.create(top / "repo", {"first.md": "# First\n\nThe hive.\n"}, object_format)
    kb.ok("init", "-q")
    for changes in history:
        for name, text in changes.items():
            if text is not None:
                kb.write(name, text)
            elif os.path.exists(kb.path(name)):
                os.unlink(kb.path(name))
        kb.ok("ingest", "-q", "--prune")
        kb.commit("c")
    for n in range(len(history)):
        at = ["--at", f"HEAD~{n}"]
        kb.ok("export", "-q", *at, str(top / f"out{n}"))
        kb.ok("export", "-q", *at, str(top / f"again{n}"))
        assert files_below(top / f"out{n}") == files_below(top / f"again{n}")
        other = fresh(top / f"other{n}", object_format)
        other.ok("import", "-q", str(top / f"out{n}"))
        assert_same(kb, other, *at)
        # What comes back is what went out, to the byte.
        other.ok("export", "-q", str(top / f"back{n}"))
        sent, back = files_below(top / f"out{n}"), files_below(top / f"back{n}")
        assert {k: v for k, v in back.items() if k[:7] in ("documen", "section", "sources")} == {
            k: v for k, v in sent.items() if k[:7] in ("documen", "section", "sources")
        }
    shutil.rmtree(top)


def test_the_same_state_gives_the_same_bytes_anywhere(tmp_path, kb):
    kb.ok("export", str(tmp_path / "a"))
    kb.ok("export", "--at", "HEAD", str(tmp_path / "b"))
    kb.ok("export", "--cached", str(tmp_path / "c"))
    git("clone", "-q", kb.top, str(tmp_path / "clone"), cwd=tmp_path)
    # Without a pool: the sections are made again.
    Kb(str(tmp_path / "clone")).ok("export", str(tmp_path / "d"))
    git("clone", "-q", "--bare", kb.top, str(tmp_path / "bare"), cwd=tmp_path)
    Kb(str(tmp_path / "bare")).ok("export", str(tmp_path / "e"))
    first = files_below(tmp_path / "a")
    assert all(files_below(tmp_path / name) == first for name in "bcde")
    sums = first.pop("SHA256SUMS").decode().splitlines()
    assert sums == [f"{hashlib.sha256(first[name]).hexdigest()}  {name}" for name in sorted(first)]


# What is exported


def test_sources_that_are_not_at_hand(tmp_path, kb):
    kb.write("notes.txt", "A new swarm.\n")
    kb.ok("ingest", "-q")
    kb.write("notes.txt", "Something else.\n")
    data = kb.json("export", str(tmp_path / "out"))
    assert data["without_source"] == ["notes.txt"]
    other = fresh(tmp_path / "other")
    assert other.json("import", str(tmp_path / "out"))["without_source"] == ["notes.txt"]
    assert other.hits("new swarm") == kb.hits("new swarm")
    kb.check()
    sha256 = fresh(tmp_path / "sha256", "sha256")
    assert_message(sha256.run("import", str(tmp_path / "out")), 128, "'notes.txt' is missing")
    assert sha256.manifests() == {}


def test_an_uncommitted_source_is_exported_from_the_work_tree(tmp_path, kb):
    kb.write("new.md", "# New\n\nNot added yet.\n")
    kb.ok("ingest", "-q")
    assert kb.json("export", str(tmp_path / "out"))["without_source"] == []
    other = fresh(tmp_path / "other")
    other.ok("import", str(tmp_path / "out"))
    assert_same(kb, other)


def test_no_sources(tmp_path, kb):
    assert kb.json("export", "--no-sources", str(tmp_path / "out"))["sources_exported"] == 0
    assert not (tmp_path / "out" / "sources").exists()
    other = fresh(tmp_path / "other")
    report = other.json("import", str(tmp_path / "out"))
    assert len(report["without_source"]) == 7
    assert answers(other)[0] == answers(kb)[0]


def test_sections_that_are_lost_are_an_error(tmp_path, kb):
    kb.write("new.md", "# New\n\nNot added yet.\n")
    kb.ok("ingest", "-q")
    kb.git("update-ref", "-d", "refs/kb/sections")
    os.unlink(kb.path("new.md"))
    assert_message(kb.run("export", str(tmp_path / "out")), 128, "1 section can be had from neither pool nor source")
    assert os.listdir(tmp_path) == ["repo"]


@pytest.mark.parametrize("name", ["out", "out.bundle"])
@pytest.mark.parametrize("what", ["file", "directory", "link"])
def test_nothing_is_overwritten(tmp_path, kb, name, what):
    path = tmp_path / name
    {"file": lambda: path.write_text("mine"), "directory": path.mkdir, "link": lambda: path.symlink_to("nowhere")}[what]()
    assert_message(kb.run("export", str(path)), 128, "is there already")
    assert os.path.islink(path) or path.is_dir() or path.read_text() == "mine"
    assert {n for n in os.listdir(tmp_path) if n.endswith(".tmp")} == set()


@pytest.mark.parametrize("name", ["no/such/out", "no/such/out.bundle"])
def test_a_place_that_cannot_be_written(tmp_path, kb, name):
    assert_message(kb.run("export", str(tmp_path / name)), 128, "cannot write", "No such file or directory")


@pytest.mark.parametrize(("args", "code"), [
    (["--cached", "x.bundle"], 129), (["--no-sources", "x.bundle"], 129), ([""], 129), (["--at", "nosuch", "x"], 128), (["--at", "HEAD^{tree}", "x.bundle"], 128),
])  # fmt: skip
def test_what_makes_no_sense(kb, args, code):
    assert_message(kb.run("export", *args), code)
    assert kb.git("status", "--porcelain") == ""


def test_a_damaged_manifest_is_not_exported(tmp_path, kb):
    kb.write("kb/documents/notes.txt.toml", "nonsense")
    assert_message(kb.run("export", str(tmp_path / "out")), 128, "manifest 'notes.txt.toml' is damaged")
    assert not (tmp_path / "out").exists()
    kb.ok("export", "--at", "HEAD", str(tmp_path / "out"))


def test_a_bundle_of_a_shallow_clone(tmp_path, kb):
    kb.commit("second")
    git("clone", "-q", "--depth", "1", f"file://{kb.top}", str(tmp_path / "clone"), cwd=tmp_path)
    clone = Kb(str(tmp_path / "clone"))
    assert_message(clone.run("export", str(tmp_path / "out.bundle")), 128, "shallow")
    clone.ok("export", str(tmp_path / "out"))


# Conflicts


@pytest.fixture
def out(tmp_path, kb):
    kb.ok("export", "-q", str(tmp_path / "out"))
    return tmp_path / "out"


@pytest.mark.parametrize("bundle", [False, True])
def test_conflicts_are_named_and_nothing_is_written(tmp_path, kb, bundle):
    path = str(tmp_path / ("out.bundle" if bundle else "out"))
    kb.ok("export", "-q", path)
    other = Kb.ready(tmp_path / "other", {"notes.txt": "Mine.\n", "mine.md": "# Mine\n\nMine alone.\n"})
    other.write("docs/guide.md", "Not ingested.\n")
    before = other.manifests(), other.pool_tree(), other.git("status", "--porcelain")
    done = other.run("import", path)
    assert done.code == 1
    named = ["docs/guide.md", "kb/documents/notes.txt.toml", "notes.txt"]
    assert [line.split("'")[1] for line in done.err.splitlines() if line.startswith("warning: conflict")] == named
    assert "error: 3 files would be overwritten\nhint: nothing was written; --force overwrites them\n" in done.err
    data = json.loads(other.run("import", "--json", path).out)
    assert data["conflicts"] == named
    assert other.run("import", "--dry-run", path).code == 1
    assert (other.manifests(), other.pool_tree(), other.git("status", "--porcelain")) == before
    assert other.json("import", "--force", path)["conflicts"] == named
    assert other.read("notes.txt") == FILES["notes.txt"].encode()
    # What only the other one has stays.
    assert "mine.md" in other.documents()
    assert other.hits("mine alone")
    other.check()


def test_dry_run_writes_nothing(tmp_path, kb, out):
    other = fresh(tmp_path / "other")
    before = other.git("status", "--porcelain", "-uall")
    data = other.json("import", "-n", str(out))
    assert (len(data["documents"]), len(data["sources"]), data["sections_new"] > 0) == (7, 7, True)
    assert other.git("status", "--porcelain", "-uall") == before
    assert other.pool_tree() == ""


def test_the_configuration_is_taken_over_where_ours_says_nothing(tmp_path):
    kb = Kb.create(tmp_path / "repo", FILES)
    kb.ok("init", "-q")
    config = json.loads(kb.read("kb.config.json"))
    kb.write("kb.config.json", json.dumps({**config, "ranking": {"k1": 2.5}}))
    kb.ok("ingest", "-q")
    kb.commit("x")
    kb.ok("export", "-q", str(tmp_path / "out"))
    other = fresh(tmp_path / "other")
    other.ok("import", "-q", str(tmp_path / "out"))
    assert other.read("kb.config.json") == kb.read("kb.config.json")
    assert_same(kb, other)
    third = fresh(tmp_path / "third")
    third.write("kb.config.json", json.dumps({**config, "chunk": {"target": 300, "ceiling": 600}}))
    mine = third.read("kb.config.json")
    assert third.json("import", str(tmp_path / "out"))["notes"] == [
        "'kb.config.json' is left as it is; the export has other settings"
    ]
    assert third.read("kb.config.json") == mine


def test_there_has_to_be_a_knowledge_base(tmp_path, out):
    bare = Kb.create(tmp_path / "none", {})
    assert_message(bare.run("import", str(out)), 128, "no knowledge base")
    git("init", "-q", "--bare", str(tmp_path / "bare"), cwd=tmp_path)
    assert_message(Kb(str(tmp_path / "bare")).run("import", str(out)), 128, "work tree")


# Damage and hostility


def put(out, name, data, add=True):
    """Change a file of an export, and its sum with it."""
    path = out / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    lines = [line for line in (out / "SHA256SUMS").read_text().splitlines() if not line.endswith("  " + name)]
    if add:
        lines.append(f"{hashlib.sha256(data).hexdigest()}  {name}")
    (out / "SHA256SUMS").write_text("".join(f"{line}\n" for line in sorted(lines, key=lambda line: line[66:])))


def name_only(out, name):
    with open(out / "SHA256SUMS", "a") as file:
        file.write(f"{'0' * 64}  {name}\n")


def manifest(out, old, new, name="documents/notes.txt.toml"):
    data = (out / name).read_bytes()
    assert old in data
    put(out, name, data.replace(old, new))


def some(out, directory):
    return next(str(p.relative_to(out)) for p in sorted((out / directory).rglob("*")) if p.is_file())


HARM = {
    "a flipped byte": lambda out: (out / "documents/notes.txt.toml").write_bytes((out / "documents/notes.txt.toml").read_bytes()[:-2] + b"x\n"),
    "a missing file": lambda out: os.unlink(out / some(out, "sections")),
    "a missing section": lambda out: put(out, some(out, "sections"), b"", add=False),
    "another section": lambda out: put(out, some(out, "sections"), b"section text/plain 5\0Other"),
    "another source": lambda out: put(out, some(out, "sources"), b"Other"),
    "no catalog": lambda out: put(out, "catalog.toml", b"", add=False),
    "a later format": lambda out: put(out, "export.toml", b'format = 2\nobject_format = "sha1"\n'),
    "no format": lambda out: put(out, "export.toml", b"nonsense"),
    "sums of nonsense": lambda out: (out / "SHA256SUMS").write_bytes(b"\xff\x00nonsense\n"),
    "sums without an end": lambda out: (out / "SHA256SUMS").write_bytes((out / "SHA256SUMS").read_bytes()[:-9]),
    "a file named twice": lambda out: (out / "SHA256SUMS").write_bytes((out / "SHA256SUMS").read_bytes() * 2),
    "a path that leaves": lambda out: name_only(out, "documents/../../x.toml"),
    "a path of another form": lambda out: put(out, "hooks/post-commit", b"x"),
    "a linked file": lambda out: (os.rename(out / "catalog.toml", out / "c"), os.symlink("c", out / "catalog.toml")),
    "a linked directory": lambda out: (os.rename(out / "documents", out / "d"), os.symlink("d", out / "documents")),
    "a linked subdirectory": lambda out: (os.rename(out / some(out, "sections").rpartition("/")[0], out / "s"), os.symlink(out / "s", out / some_gone(out))),
    "a pipe": lambda out: (os.unlink(out / "kb.config.json"), os.mkfifo(out / "kb.config.json")),
    "a directory for a file": lambda out: (os.unlink(out / "kb.config.json"), os.mkdir(out / "kb.config.json")),
    "a damaged manifest": lambda out: put(out, "documents/notes.txt.toml", b"nonsense"),
    "a manifest of a later format": lambda out: manifest(out, b"format = 1", b"format = 9"),
    "a manifest of another name": lambda out: manifest(out, b'docid = "notes.txt"', b'docid = "other.txt"'),
    **{
        f"a source at {path!r}": lambda out, path=path: manifest(out, b'source = "notes.txt"', b'source = "' + path + b'"')
        for path in (
            b"../notes.txt", b"/etc/notes.txt", b"a/../../notes.txt", b".git/config", b"a/.GIT/hooks/x", b".g\xe2\x80\x8cit/config", b"git~1/config",
            b"kb/documents/x.toml", b"KB/Documents/x.toml", b"kb/catalog.toml", b"kb.config.json", b"a//b", b"bytes:%00", b"bytes:..%2Fx", b"a/" + b"x" * 300,
            b"docs/guide.md/below", b"docs",
        )
    },
}  # fmt: skip


def some_gone(out):
    """Return the directory of sections that a linked one has replaced: the one that the sums have first."""
    line = next(line for line in (out / "SHA256SUMS").read_text().splitlines() if "  sections/" in line)
    return line[66:].rpartition("/")[0]


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_or_hostile_export_writes_nothing(tmp_path, kb, out, harm):
    HARM[harm](out)
    other = fresh(tmp_path / "other")
    before = files_below(other.top)
    done = other.run("import", "--force", str(out))
    assert_message(done, 128)
    after = files_below(other.top)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert {name for name in changed if not name.startswith(".git/kb/")} == set(), harm
    assert sorted(os.listdir(tmp_path)) == ["other", "out", "repo"]


@settings(max_examples=40)
@given(data=st.data())
def test_any_byte_may_be_wrong(tmp_path_factory, data):
    """With the sums made to fit, so that what is behind them is looked at. It comes in whole, or not at all."""
    model = tmp_path_factory.getbasetemp() / "any-byte"
    if not model.exists():
        kb = Kb.ready(model / "repo", {"a.md": "# A\n\nThe hive.\n"})
        kb.ok("export", "-q", str(model / "out"))
        fresh(model / "other")
    top = tmp_path_factory.mktemp("any")
    shutil.copytree(model / "out", top / "out")
    shutil.copytree(model / "other", top / "other")
    names = sorted(files_below(top / "out"))
    name = data.draw(st.sampled_from(names))
    old = (top / "out" / name).read_bytes()
    at = data.draw(st.integers(0, len(old) - 1))
    new = old[:at] + data.draw(st.binary(max_size=3)) + old[at + data.draw(st.integers(0, 2)) :]
    (put(top / "out", name, new) if name != "SHA256SUMS" else (top / "out" / name).write_bytes(new))
    other = Kb(str(top / "other"))
    done = other.run("import", str(top / "out"))
    assert done.code in (0, 1, 128)
    if done.code:
        assert other.manifests() == {}
    errors = json.loads(other.run("fsck", "--json").out)["errors"]
    assert [e for e in errors if e["type"] in ("orphan_document", "checksum_mismatch", "damaged_manifest")] == []
    shutil.rmtree(top)


@pytest.mark.parametrize("what", ["docs", "kb/documents/notes.txt.toml", "docs/guide.md", "repository"])
def test_what_is_in_the_way_here(tmp_path, out, what):
    other = fresh(tmp_path / "other")
    outside = tmp_path / "outside"
    outside.mkdir()
    if what == "repository":
        git("init", "-q", "docs", cwd=other.top)
    else:
        os.makedirs(os.path.dirname(other.path(what)), exist_ok=True)
        os.symlink(outside, other.path(what))
    assert_message(other.run("import", "--force", str(out)), 128)
    assert os.listdir(outside) == []
    assert not os.path.exists(other.path("notes.txt"))


@pytest.mark.parametrize("harm", ["cut", "header", "flipped", "thin", "no commit", "no knowledge base"])
def test_a_damaged_bundle(tmp_path, kb, harm):
    path = tmp_path / "out.bundle"
    kb.ok("export", "-q", str(path))
    data = path.read_bytes()
    if harm == "no knowledge base":
        plain = Kb.create(tmp_path / "plain", {"a": "a\n"})
        plain.git("bundle", "create", "-q", str(path), "HEAD")
    elif harm == "thin":
        kb.commit("second")
        kb.git("bundle", "create", "-q", str(path), "HEAD~1..HEAD")
    else:
        middle = len(data) // 2
        path.write_bytes({
            "cut": data[:-50],
            "header": data.replace(b" HEAD\n", b"?HEAD\n", 1),
            "flipped": data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :],
            "no commit": b"".join(line for line in data.splitlines(keepends=True)[:1]) + b"\n" + data.partition(b"\n\n")[2],
        }[harm])  # fmt: skip
    other = fresh(tmp_path / "other")
    assert_message(other.run("import", str(path)), 128, "is damaged")
    assert (other.manifests(), other.pool_tree()) == ({}, "")


def test_a_bundle_without_a_pool(tmp_path, kb):
    git("clone", "-q", kb.top, str(tmp_path / "clone"), cwd=tmp_path)
    clone = Kb(str(tmp_path / "clone"))
    clone.ok("export", "-q", str(tmp_path / "out.bundle"))
    other = fresh(tmp_path / "other")
    other.ok("import", "-q", str(tmp_path / "out.bundle"))
    assert_same(kb, other)


def test_line_ends_that_git_would_change_are_told(tmp_path):
    kb = Kb.ready(tmp_path / "repo", {"dos.md": "# Dos\r\n\r\nThe hive.\r\n"})
    kb.ok("export", "-q", str(tmp_path / "out"))
    other = fresh(tmp_path / "other")
    other.git("config", "core.autocrlf", "input")
    assert other.json("import", str(tmp_path / "out"))["notes"] == ["'dos.md' would be stored otherwise here (line ends, filters)"]
    assert other.read("dos.md") == b"# Dos\r\n\r\nThe hive.\r\n"
