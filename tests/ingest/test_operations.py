"""Random operations against a simple model: lists of sections by document. After each, fsck is clean and ls-sections is the model."""

import base64
import json
import os
import shutil
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kb import GUIDE, Kb

from git_kb.model.section import encode_section, make_section, section_id

MARKDOWN, CODE, IMAGE = "text/markdown", "text/x-python", "image/png"
DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "night"
# (type, content, its own heading)
CONTENTS = [
    (MARKDOWN, b"## Smoke\n\nSmoke calms bees.\n", "Smoke"),
    (MARKDOWN, b"\xef\xbb\xbf## Smoke\r\n\r\nCool smoke calms them more.\r\n\r\n", "Smoke"),
    (MARKDOWN, "## Wachs é\n\n```\nopen fence".encode(), "Wachs \u00e9"),
    (MARKDOWN, b"Honey is ripe when it is capped.", ""),
    (MARKDOWN, b"---\ntitle: no front matter\n---\ntext", ""),
    (MARKDOWN, b"One\n===\n\ntwo\n\n# Three\n\nfour", "One"),
    (CODE, b"def swarm():\n    return 'May'\n", ""),
    (IMAGE, b"\x89PNG\r\n\x1a\n\0\0bees", ""),
    (IMAGE, b"aGl2ZQ==\n", ""),
    ("application/json", b'{"hive": 1}', ""),
]
GUIDE_ID, NAMES = "docs--guide.md", ("one", "two", "docs/guide.md")


@dataclass(frozen=True)
class Entry:
    """A section of the model. said: the heading that does not come from its content."""

    kbid: str
    type: str
    own: str = ""
    said: str = ""

    @property
    def heading(self):
        return self.said or self.own


def entry(content, title=""):
    type, data, own = content
    if type == IMAGE and data.startswith(b"\x89"):
        data = base64.b64encode(data)
    section = make_section(type, data.strip() if type == IMAGE else data)
    return Entry(section_id(encode_section(section)), type, own, "" if title == own else title)


def docid_of(name):
    return GUIDE_ID if "/" in name else f"stdin--sections--{name}.md"


class Model:
    """What the knowledge base should hold: docid -> entries."""

    def __init__(self, kb):
        self.kb = kb
        self.documents = {}
        self.n_run = 0
        for docid, kbid, type, heading in rows(kb):
            self.documents.setdefault(docid, []).append(Entry(kbid, type, heading.rpartition(" > ")[2]))

    def all(self):
        return [e for docid in sorted(self.documents) for e in self.documents[docid]]

    def run(self, *args, refusable=False, stdin=b""):
        """Run a command; a refusal, where it may be, has to leave all as it was."""
        before = snapshot(self.kb)
        args = [*args, "--json", *([] if args[0].startswith(("rm", "mk")) else ["--no-index"])]
        self.n_run += 1
        dry = self.kb.run(*args, "--dry-run", stdin=stdin) if self.n_run % 2 else None
        assert dry is None or snapshot(self.kb) == before
        done = self.kb.run(*args, stdin=stdin)
        assert dry is None or dry.code == done.code
        if done.code == 0:
            data = json.loads(done.out)
            if dry is not None:
                assert told(json.loads(dry.out)) == told(data)
            return data
        assert refusable, (args, done)
        assert (done.code, done.err[:7]) == (128, "fatal: ")
        assert snapshot(self.kb) == before
        return None

    def add(self, name, content, title, where, at, supersede):
        docid = docid_of(name) if name else ""
        entries = self.documents.get(docid, [])
        ordinary = docid == GUIDE_ID
        if content[0] == IMAGE and not title:
            assert self.run("add-section", "-t", IMAGE, stdin=content[1], refusable=True) is None
            return
        title = "" if ordinary else title
        new = entry(content, title)
        args = ["add-section", "-t", content[0]]
        args += ["-d", name] if name else []
        args += ["--title", title] if title else []
        args += ["--replace"] if supersede and name else []
        position = None
        if name and entries and where:
            position = at % len(entries)
            args += [f"--{where}", entries[position].kbid]
        data = self.run(*args, stdin=content[1], refusable=ordinary)
        if data is None:
            return
        assert (data["kbid"], data["type"]) == (new.kbid, content[0])
        known = {e.kbid for e in self.all()}
        if not name:
            assert data["skipped"] == (new.kbid in known)
            if data["skipped"]:
                return
            docid = data["docid"]
            entries = self.documents.get(docid, [])
        assert data["docid"] == docid
        assert not (data["skipped"] and name)
        if any(e.kbid == new.kbid for e in entries):
            assert (data["attached"], data["sources"]) == (False, [])
            return
        assert data["attached"] == (new.kbid in known)
        assert ("heading_missing" in data["warnings"]) == (not new.heading)
        same = None
        if supersede and name:
            fits = [n for n, e in enumerate(entries) if e.heading == new.heading]
            same = fits[0] if fits else None
        if same is not None:
            old = entries[same]
            assert data["superseded"] == old.kbid
            entries[same] = new
            self.substitute(old.kbid, new)
            return
        assert data["superseded"] is None
        if position is None:
            entries.append(new)
        else:
            kbid = entries[position].kbid
            places = [n for n, e in enumerate(entries) if e.kbid == kbid]
            entries.insert(places[0] if where == "before" else places[-1] + 1, new)
        self.documents[docid] = entries

    def substitute(self, kbid, new):
        for entries in self.documents.values():
            for n, e in enumerate(entries):
                if e.kbid == kbid:
                    # A heading that stood in the content stays.
                    said = e.said or ("" if new.own else e.heading)
                    entries[n] = replace(new, said=said)

    def update(self, at, content):
        if not (every := self.all()):
            return
        old = every[at % len(every)]
        if content[0] != old.type:
            return
        new = entry(content)
        ordinary = any(e.kbid == old.kbid for e in self.documents.get(GUIDE_ID, ()))
        data = self.run("update-section", old.kbid, stdin=content[1], refusable=ordinary)
        if data is None:
            return
        assert (data["old_kbid"], data["new_kbid"]) == (old.kbid, new.kbid)
        if new.kbid != old.kbid:
            self.substitute(old.kbid, new)

    def remove(self, at):
        if not (every := self.all()):
            return
        kbid = every[at % len(every)].kbid
        ordinary = any(e.kbid == kbid for e in self.documents.get(GUIDE_ID, ()))
        data = self.run("rm-section", kbid, refusable=ordinary)
        if data is None:
            return
        for docid, entries in self.documents.items():
            assert (docid in data["docids"]) == any(e.kbid == kbid for e in entries)
            self.documents[docid] = [e for e in entries if e.kbid != kbid]
        assert self.kb.run("rm-section", kbid).code == 1

    def make(self, picks):
        every = self.all()
        if not every:
            return
        ids = [every[n % len(every)].kbid for n in picks]
        if docid_of("three") in self.documents:
            self.run("mk-document", "three", *ids, refusable=True)
            return
        data = self.run("mk-document", "three", *ids)
        first = {e.kbid: e for e in reversed(every)}
        self.documents[data["docid"]] = [first[kbid] for kbid in ids]
        assert data["section_count"] == len(ids)
        assert self.run("mk-document", "three", *ids)["sources"] == []

    def remove_document(self, name):
        docid = docid_of(name)
        if docid not in self.documents or docid == GUIDE_ID:
            return
        data = self.run("rm-document", "-f", name)
        assert data["sections_ungrouped"] == len(self.documents.pop(docid))
        assert self.kb.run("rm-document", "-f", name).code == 1

    def check(self):
        done = self.kb.run("fsck", "--json")
        assert done.code == 0, done.out
        shown = {docid: [] for docid in self.documents}
        for docid, kbid, type, heading in rows(self.kb):
            shown[docid].append((kbid, type, heading.rpartition(" > ")[2]))
        assert shown == {docid: [(e.kbid, e.type, e.heading) for e in entries] for docid, entries in self.documents.items()}

    def check_sources(self):
        """Sources say it all: cut anew, and in a clone without a pool, they give the same."""
        before = self.kb.manifests()
        self.kb.ok("ingest", "-f", "-q", "--no-index")
        assert self.kb.manifests() == before
        self.kb.commit()
        clone = self.kb.top + ".clone"
        self.kb.git("clone", "-q", self.kb.top, clone)
        other = Kb(clone)
        other.ok("index")
        other.check()
        for e in self.all():
            assert other.ok("cat-section", "-p", e.kbid) == self.kb.ok("cat-section", "-p", e.kbid)
        shutil.rmtree(clone)


def rows(kb):
    """Return (docid, kbid, type, heading) of each section."""
    lines = kb.ok("ls-sections", "--format", "{docid}\t{kbid}\t{type}\t{role}\t{heading}").splitlines()
    fields = [line.split("\t") for line in lines]
    return [(docid, kbid, type, heading) for docid, kbid, type, role, heading in fields if not role]


def told(data):
    """Return what a dry run says, too."""
    return {key: value for key, value in data.items() if key not in ("elapsed_ms", "removed")}


def snapshot(kb):
    sources = {}
    for top in ("kb/raw", "docs"):
        for directory, _, names in os.walk(kb.path(top)):
            sources.update((os.path.join(directory, n), kb.read(os.path.join(directory, n))) for n in names)
    return kb.manifests(), sources, kb.pool_tree()


INDEX = st.integers(0, 9)
CONTENT = st.sampled_from(CONTENTS)
ADD = st.tuples(
    st.just("add"),
    st.sampled_from(["", *NAMES]),
    CONTENT,
    st.sampled_from(["", "", "Title", "Smoke"]),
    st.sampled_from(["", "before", "after"]),
    INDEX,
    st.booleans(),
)
OPERATION = st.one_of(
    ADD,
    ADD,
    st.tuples(st.just("update"), INDEX, CONTENT),
    st.tuples(st.just("remove"), INDEX),
    st.tuples(st.just("make"), st.lists(INDEX, min_size=1, max_size=4)),
    st.tuples(st.just("remove_document"), st.sampled_from(["one", "two", "three"])),
)


@settings(max_examples=60 if DEEP else 6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(OPERATION, min_size=4, max_size=8))
def test_operations_are_those_of_the_model(tmp_path_factory, operations):
    model = tmp_path_factory.getbasetemp() / "model"
    if not model.exists():
        Kb.ready(model, {"docs/guide.md": GUIDE})
    top = tmp_path_factory.mktemp("run") / "r"
    shutil.copytree(model, top)
    state = Model(Kb(top))
    for what, *args in operations:
        getattr(state, what)(*args)
        state.check()
    state.check_sources()
    shutil.rmtree(top)


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo", {"docs/guide.md": GUIDE})


def sections(kb, name):
    """Return the kbids of a document, without front matter."""
    lines = kb.ok("ls-sections", "--format", "{kbid} {role}", docid_of(name)).splitlines()
    return [line.split()[0] for line in lines if line.endswith(" ")]


def add(kb, name, data, *args, **more):
    return kb.json("add-section", *(["-d", name] if name else []), *args, stdin=data, **more)


# The seed's rules, one by one.


def test_content_of_its_own_gets_a_document_of_its_own(kb):
    first = add(kb, "", b"## Smoke\n\nSmoke calms bees.\n")
    assert first["docid"].startswith("stdin--sections--smoke-")
    assert first["sources"] == [f"kb/raw/stdin/sections/{first['docid'].removeprefix('stdin--sections--')}"]
    assert (first["title"], first["attached"], first["skipped"], first["superseded"]) == ("Smoke", False, False, None)
    assert kb.hits("smoke") == [f"{first['docid']}#{kb.ok('ls-sections', '--format', '{chunk}{role}', first['docid']).split()[-1]}"]
    again = add(kb, "", b"\xef\xbb\xbf## Smoke\r\n\r\nSmoke calms bees.")
    assert (again["kbid"], again["skipped"], again["attached"], again["sources"]) == (first["kbid"], True, False, [])
    attached = add(kb, "notes", b"## Smoke\n\nSmoke calms bees.")
    assert (attached["kbid"], attached["skipped"], attached["attached"]) == (first["kbid"], False, True)
    same = add(kb, "notes", b"## Smoke\n\nSmoke calms bees.")
    assert (same["skipped"], same["attached"], same["sources"]) == (False, False, [])
    other = add(kb, "", b"## Smoke\n\nSmoke calms bees.", "-t", "text/plain")
    assert other["kbid"] != first["kbid"]
    assert other["docid"] != first["docid"]
    kb.check()


def test_the_keys_are_those_of_the_seed(kb):
    added = add(kb, "notes", b"Smoke.", "--title", "T", "--description", "D", "--tag", "b", "--tag", "a")
    assert {
        "kbid", "type", "title", "description", "indexed_terms_count", "elapsed_ms", "attached", "superseded", "warnings",
        "near_duplicates",
    } <= added.keys()  # fmt: skip
    assert (added["title"], added["description"], added["indexed_terms_count"], added["warnings"]) == ("T", "D", 2, [])
    updated = kb.json("update-section", added["kbid"], stdin=b"Fog and smoke.")
    assert {"old_kbid", "new_kbid", "reindexed_terms_count", "elapsed_ms"} <= updated.keys()
    assert (updated["old_kbid"], updated["reindexed_terms_count"]) == (added["kbid"], 4)
    made = kb.json("mk-document", "all", updated["new_kbid"])
    assert {"docid", "section_count", "elapsed_ms"} <= made.keys()
    gone = kb.json("rm-document", "-f", "all")
    assert {"removed", "sections_ungrouped", "elapsed_ms"} <= gone.keys()
    assert gone["removed"] is True
    removed = kb.json("rm-section", updated["new_kbid"])
    assert {"removed", "elapsed_ms"} <= removed.keys()
    assert removed["removed"] is True
    tags = kb.ok("ls-documents", "--format", "{docid} {tags}").splitlines()
    assert "stdin--sections--notes.md a,b" in tags


def test_an_image_needs_a_title(kb):
    before = snapshot(kb)
    done = kb.run("add-section", "-t", "image/png", "-d", "notes", stdin=b"\x89PNG\r\n\x1a\n...")
    assert done.code == 128
    assert "title" in done.err
    assert "--title" in done.err
    assert snapshot(kb) == before
    added = add(kb, "notes", b"\x89PNG\r\n\x1a\n...", "-t", "image/png", "--title", "The smoker")
    assert (added["indexed_terms_count"], added["warnings"]) == (2, [])
    assert add(kb, "notes", b"\niVBORw0KGgouLi4=\n", "-t", "image/png", "--title", "x")["kbid"] == added["kbid"]
    assert kb.ok("cat-section", "-p", added["kbid"]) == "iVBORw0KGgouLi4="
    (hit,) = kb.json("search", "smoker")["results"]
    assert (hit["type"], hit["snippet"]) == ("image/png", "")
    assert "iVBOR" not in kb.ok("search", "smoker") + kb.run("query", "Where is the smoker?").out


def test_warnings_are_advice(kb):
    text = b"Bees leave the hive in May when the colony has grown too large for it and the weather is warm and dry enough."
    first = add(kb, "notes", text)
    assert (first["warnings"], first["near_duplicates"]) == (["heading_missing"], [])
    second = add(kb, "notes", text.replace(b"May", b"June"), "--title", "Leaving")
    assert second["warnings"] == []
    (near,) = second["near_duplicates"]
    assert near["kbid"] == first["kbid"]
    assert 0.85 <= near["similarity"] < 1
    done = kb.run("add-section", stdin=text.replace(b"May", b"July"))
    assert done.code == 0
    assert "heading_missing" in done.err
    assert "near-duplicate" in done.err
    assert add(kb, "", b"Fog.", "--no-index")["near_duplicates"] is None


def test_replace_supersedes_everywhere(kb):
    first = add(kb, "one", b"## Smoke\n\nSmoke calms bees.")
    add(kb, "two", b"## Smoke\n\nSmoke calms bees.")
    kept = add(kb, "one", b"## Fog\n\nFog.")
    second = add(kb, "one", b"## Smoke\n\nIt does not.", "--replace")
    assert second["superseded"] == first["kbid"]
    assert sections(kb, "one") == [second["kbid"], kept["kbid"]]
    assert sections(kb, "two") == [second["kbid"]]
    chain = kb.ok("ls-sections", "--format", "{kbid} {supersedes}").splitlines()
    assert chain.count(f"{second['kbid']} {first['kbid']}") == 2
    assert kb.ok("cat-section", "-p", first["kbid"]).endswith("calms bees.")
    third = add(kb, "one", b"## Smoke\n\nIt does not.", "--replace")
    assert (third["superseded"], third["sources"]) == (None, [])
    assert add(kb, "one", b"## Steam\n\nNew.", "--replace")["superseded"] is None
    manifests = kb.manifests()
    kb.ok("ingest", "-f")
    assert kb.manifests() == manifests
    kb.check()


@pytest.mark.parametrize("heading", ["Two  blanks", "*Marks* and `code`", "T\u00e4b\tulator", "long " * 100])
def test_replace_knows_a_heading_however_it_is_written(kb, heading):
    first = add(kb, "one", f"## {heading}\n\nfirst".encode())
    kb.json("mk-document", "two", first["kbid"])
    second = add(kb, "one", f"## {heading}\n\nsecond".encode(), "--replace", "--title", first["title"])
    assert second["superseded"] == first["kbid"]
    assert sections(kb, "one") == sections(kb, "two") == [second["kbid"]]
    for name in ("one", "two"):
        assert b"heading" not in kb.read(f"kb/raw/stdin/sections/{name}.md") or len(heading) > 300
    kb.check()


def test_the_first_of_all_is_added(tmp_path):
    kb = Kb.create(tmp_path / "r", {"docs/guide.md": GUIDE})
    assert kb.run("add-section", stdin=b"## A\n\nb").code == 128
    kb.ok("init", "-q")
    assert add(kb, "", b"## A\n\nb")["skipped"] is False
    kb.ok("ingest", "-q", "docs")
    new = kb.json("add-section", "-d", "guide.md", cwd="docs", stdin=b"## Smoke\n\nSmoke.")
    assert new["sources"] == ["docs/guide.md"]
    kb.json("rm-section", "guide.md#smoke", cwd="docs")
    assert kb.read("docs/guide.md").decode() == GUIDE
    kb.check()


def test_a_citation_means_one_place(kb):
    first = add(kb, "one", b"## Smoke\n\nSmoke calms bees.")
    add(kb, "two", b"## Smoke\n\nSmoke calms bees.")
    chunk = kb.ok("ls-sections", "--format", "{chunk} {kbid}").split(f" {first['kbid']}")[0].split()[-1]
    done = kb.json("update-section", f"stdin--sections--two.md#{chunk}", stdin=b"## Smoke\n\nNot in two.")
    assert done["docids"] == ["stdin--sections--two.md"]
    assert sections(kb, "one") == [first["kbid"]]
    kb.ok("rm-section", "kb/raw/stdin/sections/one.md#smoke")
    assert (sections(kb, "one"), len(sections(kb, "two"))) == ([], 1)
    assert kb.json("rm-section", "-d", "two", done["new_kbid"])["docids"] == ["stdin--sections--two.md"]


# Ordinary sources.


def test_an_ordinary_source_is_edited_in_the_work_tree_alone(kb):
    staged = kb.git("ls-files", "-s")
    done = add(kb, "docs/guide.md", b"Smoke calms bees.", "--heading", "Guide", "--title", "Smoke")
    assert kb.read("docs/guide.md").decode() == GUIDE + "\n## Smoke\n\nSmoke calms bees.\n"
    assert done["title"] == "Smoke"
    assert kb.git("ls-files", "-s") == staged
    assert kb.git("status", "--porcelain", "--", "docs").split() == ["M", "docs/guide.md"]
    kb.ok("rm-section", done["kbid"])
    assert kb.read("docs/guide.md").decode() == GUIDE
    assert kb.json("ingest")["unchanged"] == 1
    kb.check()


def test_in_the_middle_of_an_ordinary_source(kb):
    kbid = sections(kb, "docs/guide.md")[1]
    new = add(kb, "docs/guide.md", b"## Smoke\n\nSmoke.", "--before", kbid)
    assert kb.read("docs/guide.md").decode() == GUIDE.replace("## Install", "## Smoke\n\nSmoke.\n\n## Install")
    kb.json("update-section", "docs/guide.md#smoke", stdin=b"## Smoke\n\nFog.")
    assert "## Smoke\n\nFog.\n\n## Install" in kb.read("docs/guide.md").decode()
    assert kb.run("rm-section", new["kbid"]).code == 1


@pytest.mark.parametrize(
    ("data", "args", "why"),
    [
        (b"no heading", [], "part of another one"),
        (b"# A\n\n# B\n", [], "cut into 2 sections"),
        (b"## A\n\n" + b"word\n\n" * 3000, [], "cut into"),
        (b"x = 1", ["-t", "text/x-python", "--title", "x"], "text/markdown, not text/x-python"),
        (b"## A", ["--description", "d"], "description"),
        (b"A", [*["--heading", "h"] * 6, "--title", "t"], "six levels"),
    ],
)
def test_what_would_not_be_one_section_is_refused(kb, data, args, why):
    before = snapshot(kb)
    done = kb.run("add-section", "-d", "docs/guide.md", *args, stdin=data)
    assert done.code == 128
    assert why in done.err
    assert "hint: " in done.err
    assert snapshot(kb) == before


def test_properties_that_are_not_ours_stay(kb):
    """Of a later version, or odd ones."""
    path = "kb/raw/stdin/sections/notes.md"
    lines = ['\x1e{"heading": ["A"], "later": [1, "\\ud800"]}', "", "one", "", "\x1enonsense", "", "two", ""]
    kb.write(path, "\n".join(lines))
    kb.ok("ingest", "-q")
    for kbid in sections(kb, "notes"):
        kb.json("update-section", kbid, stdin=b"new " + kbid.encode())
    text = kb.read(path).decode()
    assert '\x1e{"heading": ["A"], "later": [1, "\\ud800"]}\n' in text
    assert "\x1enonsense\n" in text
    add(kb, "notes", b"again", "--title", "A", "--replace")
    assert '\x1e{"heading": ["A"], "later": [1, "\\ud800"]}\n\nagain' in kb.read(path).decode()
    kb.json("update-section", sections(kb, "notes")[0], stdin=b"# B\n\nits own heading")
    assert kb.ok("ls-sections", "--format", "{heading}", "stdin--sections--notes.md").split() == ["A"]
    kb.check()


def test_a_heading_follows_the_content_it_stood_in(kb):
    new = add(kb, "notes", b"## A\n\none")
    kb.json("update-section", new["kbid"], stdin=b"## B\n\ntwo")
    kb.json("mk-document", "copy", "docs/guide.md#feed-the-colony")
    (kbid,) = sections(kb, "copy")
    kb.json("update-section", "-d", "copy", kbid, stdin=b"## Feed them\n\nnow")
    kb.json("update-section", "kb/raw/stdin/sections/notes.md#b", stdin=b"no heading")
    headings = kb.ok("ls-sections", "--format", "{docid} {heading}").splitlines()
    assert "stdin--sections--notes.md B" in headings
    assert "stdin--sections--copy.md Guide > Feed them" in headings
    kb.check()


def test_a_stale_source_is_refused_and_a_section_file_cut_anew(kb):
    kb.write("docs/guide.md", GUIDE + "\nmore\n")
    before = snapshot(kb)
    for args in (["add-section", "-d", "docs/guide.md"], ["rm-section", sections(kb, "docs/guide.md")[2]]):
        done = kb.run(*args, stdin=b"## A\n\nb")
        assert done.code == 128
        assert "'docs/guide.md' has changed since it was ingested" in done.err
        assert "git kb ingest docs/guide.md" in done.err
    assert snapshot(kb) == before
    add(kb, "notes", b"## A\n\nb")
    path = "kb/raw/stdin/sections/notes.md"
    kb.write(path, kb.read(path) + b"\n\x1e\n\n## By hand\n\nwritten\n")
    new = add(kb, "notes", b"## C\n\nd")
    assert len(sections(kb, "notes")) == 3
    assert sections(kb, "notes")[2] == new["kbid"]
    kb.check()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_encodings_and_line_ends_stay(tmp_path, encoding, eol):
    text = GUIDE.replace("bees", "b\u00eaes, de l'\u00e9t\u00e9").replace("\n", eol)
    if encoding == "latin-1":
        text = f"<!-- coding: latin-1 -->{eol}{eol}" + text
    kb = Kb.ready(tmp_path / "r", {"docs/guide.md": text.encode(encoding)})
    new = add(kb, "docs/guide.md", "## Fum\u00e9e\n\nLa fum\u00e9e.".encode(), "--after", sections(kb, "docs/guide.md")[-2])
    added = f"## Fum\u00e9e{eol}{eol}La fum\u00e9e.{eol}{eol}"
    assert kb.read("docs/guide.md").decode(encoding) == text.replace("## Feed", added + "## Feed")
    kb.json("update-section", new["kbid"], stdin="## Fum\u00e9e\n\nVapeur.".encode())
    kb.json("rm-section", "docs/guide.md#fum\u00e9e")
    assert kb.read("docs/guide.md") == text.encode(encoding)
    kb.check()


def test_characters_that_the_encoding_lacks_are_refused(tmp_path):
    text = "<!-- coding: latin-1 -->\n\n# \u00c9t\u00e9\n\nL'\u00e9t\u00e9.\n"
    kb = Kb.ready(tmp_path / "r", {"a.md": text.encode("latin-1")})
    done = kb.run("add-section", "-d", "a.md", stdin="## \u65e5".encode())
    assert done.code == 128
    assert "which does not have all characters" in done.err


def test_line_ends_that_git_converts(tmp_path):
    """core.autocrlf: git stores LF, the disk has CRLF, and both stay so."""
    kb = Kb.ready(tmp_path / "r", {"docs/guide.md": GUIDE})
    kb.git("config", "core.autocrlf", "true")
    kb.write("docs/guide.md", GUIDE.replace("\n", "\r\n"))
    new = add(kb, "docs/guide.md", b"## Smoke\n\nSmoke.")
    assert kb.read("docs/guide.md").decode() == (GUIDE + "\n## Smoke\n\nSmoke.\n").replace("\n", "\r\n")
    assert kb.json("ingest")["unchanged"] == 1
    kb.ok("rm-section", new["kbid"])
    assert kb.read("docs/guide.md").decode() == GUIDE.replace("\n", "\r\n")
    add(kb, "notes", b"## A\n\nb")
    assert kb.json("ingest")["changed"] == []
    kb.check()


def test_a_filter_keeps_us_off(kb):
    kb.write(".gitattributes", "docs/guide.md filter=upper\n")
    kb.git("config", "filter.upper.clean", "tr a-z A-Z")
    kb.ok("ingest", "-f", "-q")
    before = snapshot(kb)
    done = kb.run("add-section", "-d", "docs/guide.md", stdin=b"## SMOKE\n\nsmoke")
    assert done.code == 128
    assert "filter" in done.err
    assert snapshot(kb) == before


# Files and documents.


def test_paths_stay_in_the_repository(kb, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    for link in ("kb/raw", "kb/raw/stdin", "kb/raw/stdin/sections"):
        os.makedirs(os.path.dirname(kb.path(link)), exist_ok=True)
        os.symlink(outside, kb.path(link))
        for args in (["add-section"], ["add-section", "-d", "notes"], ["mk-document", "n", sections(kb, "docs/guide.md")[0]]):
            done = kb.run(*args, stdin=b"## A\n\nb")
            assert done.code == 128, done
            assert "symbolic link" in done.err
        assert kb.run("ingest", "-", stdin=b"# A\n").code == (0 if link.endswith("sections") else 128)
        os.unlink(kb.path(link))
        if link != "kb/raw/stdin/sections":
            os.mkdir(kb.path(link))
    assert os.listdir(outside) == []
    add(kb, "notes", b"## A\n\nb")
    path = kb.path("kb/raw/stdin/sections/notes.md")
    os.rename(path, outside / "notes.md")
    os.symlink(outside / "notes.md", path)
    before = (outside / "notes.md").read_bytes()
    for args in (["add-section", "-d", "notes"], ["rm-document", "-f", "notes"]):
        done = kb.run(*args, stdin=b"## C\n\nd")
        assert done.code == 128, done
        assert "symbolic link" in done.err
    assert (outside / "notes.md").read_bytes() == before


@pytest.mark.parametrize("name", ["../x", "a/b", ".x", "-x", "con", "a~b", "a b", "x" * 200, "a--b", "kb/raw/stdin/x.md"])
def test_names_that_are_no_files_are_refused(kb, name):
    before = snapshot(kb)
    for args in (["add-section", f"--document={name}"], ["mk-document", "--", name, sections(kb, "docs/guide.md")[0]]):
        done = kb.run(*args, stdin=b"## A\n\nb")
        assert done.code in (1, 129), (args, done)
        assert "Traceback" not in done.err
    assert snapshot(kb) == before


def test_a_file_that_is_no_document_yet_is_not_made_one_by_chance(kb):
    kb.write("notes", "# Notes\n")
    done = kb.run("add-section", "-d", "notes", stdin=b"## A\n\nb")
    assert done.code == 1
    assert "git kb ingest notes" in done.err


def test_ignored_places_are_refused(kb):
    kb.write(".gitignore", "kb/raw\n")
    done = kb.run("add-section", stdin=b"## A\n\nb")
    assert done.code == 128
    assert "ignores" in done.err
    assert kb.run("ingest", "-", stdin=b"## A\n").code == 128
    assert not os.path.exists(kb.path("kb/raw"))


def test_what_would_divide_a_section_is_refused(kb):
    before = snapshot(kb)
    done = kb.run("add-section", "-d", "notes", stdin=b"## A\n\x1e\nb")
    assert done.code == 128
    assert "U+001E" in done.err
    add(kb, "docs/guide.md", b"## A\n\x1e\nb", "--no-index")
    kb.ok("rm-section", "-q", "docs/guide.md#a")
    assert snapshot(kb)[:2] == before[:2]


def test_a_manifest_cannot_direct_us_at_other_files(kb):
    """A clone may hold a manifest whose source is another document's."""
    add(kb, "notes", b"## A\n\nb")
    text = kb.read("kb/documents/stdin--sections--notes.md.toml").replace(b'docid = "stdin--sections--notes.md"', b'docid = "evil"')
    kb.write("kb/documents/evil.toml", text)
    done = kb.run("add-section", "-d", "evil", stdin=b"## C\n\nd")
    assert done.code == 128
    assert "'evil' cannot be changed" in done.err
    kb.ok("rm-document", "-f", "evil")
    assert kb.read("kb/raw/stdin/sections/notes.md")
    kb.check()


def test_rm_document_keeps_what_git_does_not_have(kb):
    add(kb, "notes", b"## A\n\nb")
    before = snapshot(kb)
    done = kb.run("rm-document", "notes")
    assert done.code == 128
    assert "--force" in done.err
    assert snapshot(kb) == before
    kb.git("add", "-A")
    assert kb.json("rm-document", "notes", "-n")["sources"] == ["kb/raw/stdin/sections/notes.md"]
    assert snapshot(kb) == before
    kb.ok("rm-document", "notes")
    assert not os.path.exists(kb.path("kb/raw/stdin/sections/notes.md"))
    kb.ok("rm-document", "docs/guide.md")
    assert kb.read("docs/guide.md").decode() == GUIDE
    assert kb.documents() == []


def test_mk_document_gives_an_orphan_a_home(kb):
    kbid = kb.ok("hash-section", "-w", "--stdin", stdin=b"## Lost\n\nand found").strip()
    made = kb.json("mk-document", "home", kbid, "--title", "A home", "--tag", "x")
    assert (made["section_count"], made["title"]) == (1, "A home")
    assert sections(kb, "home") == [kbid]
    assert kb.hits("lost") != []
    done = kb.run("mk-document", "home", sections(kb, "docs/guide.md")[0])
    assert done.code == 128
    assert "already" in done.err
    assert kb.run("mk-document", "h2", "abcdefgh").code == 1


def test_many_sections_are_found_as_one_is(kb):
    kbids = [add(kb, "", f"## S{n}\n\ntext {n}".encode(), "--no-index")["kbid"] for n in range(8)]
    ids = [kbid[: 6 if n % 2 else 26] for n, kbid in enumerate(kbids)]
    assert kb.json("mk-document", "all", *ids)["section_count"] == 8
    assert sections(kb, "all") == kbids
    assert kb.run("mk-document", "other", *ids, "a" * 26).code == 1
    kb.check()


def test_a_section_that_was_replaced_can_come_back(kb):
    """The file of a section of its own is named by what it first said."""
    first = add(kb, "", b"## A\n\none")
    second = kb.json("update-section", first["kbid"], stdin=b"## A\n\ntwo")
    again = add(kb, "", b"## A\n\none")
    assert (again["docid"], again["kbid"]) == (first["docid"], first["kbid"])
    lines = kb.ok("ls-sections", "--format", "{kbid} {role}", first["docid"]).splitlines()
    assert [line.split()[0] for line in lines if line.endswith(" ")] == [second["new_kbid"], first["kbid"]]


def test_disjoint_additions_merge_clean(kb):
    """With stock git: sections of their own on two branches, and the same one on both."""
    kb.git("checkout", "-q", "-b", "other")
    add(kb, "", b"## A\n\none")
    add(kb, "", b"## A\n\ntwo")
    kb.commit()
    kb.git("checkout", "-q", "main")
    add(kb, "", b"## A\n\ntwo")
    add(kb, "", b"## A\n\nthree")
    kb.commit()
    kb.git("merge", "-q", "--no-edit", "other")
    assert len(kb.documents()) == 4
    assert len(kb.hits("one")) == 1
    kb.check()


# Standard input as a source.


def test_standard_input_is_ingested(kb):
    data = b"# Wax\n\nMelt wax.\n\n## Press\n\nPress it.\n"
    dry = kb.json("ingest", "-", "-n", stdin=data)
    assert not os.path.exists(kb.path("kb/raw"))
    done = kb.json("ingest", "-", stdin=data)
    assert done["new"] == dry["new"]
    assert (
        (done["sections"], done["sections_new"])
        == (dry["sections"], dry["sections_new"])
        == (
            2,
            2,
        )
    )
    (source,) = done["new"]
    assert source.startswith("kb/raw/stdin/wax-")
    assert source.endswith(".md")
    assert kb.read(source) == data
    assert kb.json("ingest", "-", stdin=data)["unchanged"] == 1
    assert kb.json("ingest", "-", "-n", stdin=data)["unchanged"] == 1
    titled = kb.json("ingest", "-", "--title", "Melting & more", "--tag", "t", stdin=data)["new"][0]
    assert titled.startswith("kb/raw/stdin/melting-more-")
    lines = kb.ok("ls-documents", "--format", "{docid}\t{title}\t{tags}").splitlines()
    assert f"stdin--{os.path.basename(titled)}\tMelting & more\tt" in lines
    kb.write(source, data + b"\nmore\n")
    assert kb.run("ingest", "-", stdin=data).code == 128
    assert kb.json("ingest")["changed"] == [source]
    kb.check()


@pytest.mark.parametrize(
    ("data", "type", "code"),
    [(b"a,b\n1,2\n", "text/csv", 0), (b"x: 1\n", "application/yaml", 0), (b"", "text/plain", 128), (b" \n", "text/plain", 128),
     (b"%PDF-1.4", "text/plain", 128), (b"a", "image/png", 128), (b"a", "text/x-odd", 128), (b"a", "nonsense", 128)],
)  # fmt: skip
def test_types_of_standard_input(kb, data, type, code):
    done = kb.run("ingest", "-", "--type", type, "--json", stdin=data)
    assert done.code == code, done
    if code:
        assert not os.path.exists(kb.path("kb/raw"))
    else:
        (source,) = json.loads(done.out)["new"]
        assert f"\t{type}" in kb.ok("ls-documents", "--format", "{source}\t{type}")
        assert kb.read(source) == data


def test_misuse_is_told(kb):
    for args in (["ingest", "-", "-"], ["ingest", "-", "--commit"], ["ingest", "--type", "text/csv", "docs"], ["ingest", "-", "docs", "--title", "t"],
                 ["add-section", "--before", "abcd"], ["add-section", "--replace"], ["mk-document", "x"]):  # fmt: skip
        assert kb.run(*args, stdin=b"# A\n").code == 129, args
    assert not os.path.exists(kb.path("kb/raw"))


def test_a_file_left_without_a_manifest_is_found(kb):
    """Whoever puts a file there, or is killed behind it."""
    kb.write("kb/raw/stdin/sections/notes.md", "\x1e\n\n## A\n\nb\n")
    kb.write("kb/raw/stdin/by-hand.md", "# By hand\n")
    assert "sources not ingested yet" in kb.ok("status")
    assert len(kb.json("ingest")["new"]) == 2
    os.unlink(kb.path("kb/raw/stdin/by-hand.md"))
    assert kb.json("ingest")["gone"] == ["kb/raw/stdin/by-hand.md"]
    kb.check()
