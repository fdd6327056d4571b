"""`git kb show --history`: the chain of a section through edits, moves, branches and removals."""

import os

import pytest
from kb import GUIDE, Kb, assert_message

FEED = "docs/guide.md#feed-the-colony"


def at(second):
    return {"GIT_COMMITTER_DATE": f"{1700000000 + second} +0000", "GIT_AUTHOR_DATE": f"{1700000000 + second} +0000"}


class Story:
    """A knowledge base, and what one of its sections said in each commit."""

    def __init__(self, kb):
        self.kb, self.n = kb, 0

    def commit(self, text=None, name="docs/guide.md", message=None):
        self.n += 1
        if text is not None:
            self.kb.write(name, text)
        self.kb.ok("ingest", "-q", "--prune")
        self.kb.git("add", "-A")
        self.kb.git("commit", "-q", "-m", message or f"commit {self.n}", **at(60 * self.n))

    def chain(self, name=FEED, *args):
        return self.kb.json("show", "--history", *args, name)["chain"]

    def subjects(self, name=FEED, *args):
        return [link["subject"] for link in self.chain(name, *args)]


@pytest.fixture
def story(tmp_path):
    return Story(Kb.ready(tmp_path / "r"))


def guide(food):
    return GUIDE.replace("syrup", food)


def test_edits_newest_first(story):
    story.commit(guide("fondant"))
    story.commit(guide("fondant").replace("south", "east"), message="no business of this section")
    story.commit(guide("pollen"))
    chain = story.chain()
    assert [link["subject"] for link in chain] == ["commit 3", "commit 1", "knowledge base"]
    kb = story.kb
    assert [link["oid"] for link in chain] == [kb.git("rev-parse", r) for r in ("HEAD", "HEAD~2", "HEAD~3")]
    for link, food in zip(chain, ("pollen", "fondant", "syrup"), strict=True):
        assert f"Feed {food}" in kb.ok("show", "--at", link["oid"], link["citation"])
    assert [link["supersedes"] for link in chain] == [chain[1]["kbid"], chain[2]["kbid"], None]
    assert story.subjects(FEED, "--at", "HEAD~1") == ["commit 1", "knowledge base"]
    text = kb.ok("show", "--history", FEED)
    assert text.startswith(
        f"section {chain[0]['kbid']}\nCommit: {chain[0]['oid']}\nAuthor: A U Thor <author@example.com>\nDate:   2023-"
    )
    assert "At:     docs/guide.md:9  Guide > Feed the colony\n\n    commit 3\n\n" in text


def test_any_of_its_names_finds_it(story):
    old = story.chain()[0]["kbid"]
    story.commit(guide("fondant"))
    chain = story.chain()
    for name in (chain[0]["kbid"], chain[0]["citation"], "docs/guide.md:10", old, old[:8]):
        assert story.chain(name) == chain, name


def test_what_is_not_committed(story):
    story.commit(guide("fondant"))
    story.kb.write("docs/guide.md", guide("pollen"))
    story.kb.ok("ingest", "-q")
    assert story.subjects() == [None, "commit 1", "knowledge base"]
    assert "Commit: none, not committed\n" in story.kb.ok("show", "--history", FEED)
    assert story.subjects(FEED, "--cached") == ["commit 1", "knowledge base"]
    # What is ingested twice before a commit leaves a name of its own.
    story.kb.write("docs/guide.md", guide("honeydew"))
    story.kb.ok("ingest", "-q")
    chain = story.chain()
    assert [link["status"] for link in chain] == ["present", "superseded", "present", "present"]
    story.commit()
    assert [(link["status"], link["subject"]) for link in story.chain()] == [
        ("present", "commit 2"),
        ("superseded", None),
        ("present", "commit 1"),
        ("present", "knowledge base"),
    ]


def test_moves_are_followed(story):
    story.commit(guide("fondant"))
    story.kb.git("mv", "docs/guide.md", "docs/manual.md")
    story.commit(message="only moved")
    story.kb.git("mv", "docs/manual.md", "bees.md")
    story.commit(guide("pollen"), "bees.md", "moved and changed")
    chain = story.chain("bees.md#feed-the-colony")
    assert [(link["subject"], link["source"]) for link in chain] == [
        ("moved and changed", "bees.md"),
        ("commit 1", "docs/guide.md"),
        ("knowledge base", "docs/guide.md"),
    ]
    story.kb.git("mv", "bees.md", "not-yet.md")
    story.kb.ok("ingest", "-q", "--prune")
    assert story.subjects("not-yet.md#feed-the-colony")[-2:] == ["commit 1", "knowledge base"]


def test_removed_and_back(story):
    story.commit(GUIDE.partition("## Feed")[0], message="away")
    kbid = story.kb.json("show", "--history", "--at", "HEAD~1", FEED)["chain"][0]["kbid"]
    assert [(link["status"], link["subject"]) for link in story.chain(kbid)] == [("gone", "away"), ("present", "knowledge base")]
    story.commit(guide("fondant"), message="back")
    assert [(link["status"], link["subject"]) for link in story.chain()] == [
        ("present", "back"),
        ("gone", "away"),
        ("present", "knowledge base"),
    ]
    story.kb.git("rm", "-q", "docs/guide.md")
    story.commit(message="all of it")
    assert [(link["status"], link["subject"]) for link in story.chain(kbid)][:2] == [("gone", "all of it"), ("present", "back")]


def test_branches_do_not_mix(story):
    """What two branches say in turns by date is told once a change, not at each turn."""
    kb = story.kb
    kb.git("checkout", "-q", "-b", "side")
    kb.write("docs/guide.md", guide("fondant"))
    kb.ok("ingest", "-q")
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "fondant", **at(10))
    kb.write("docs/guide.md", guide("fondant").replace("south", "east"))
    kb.ok("ingest", "-q")
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "east", **at(30))
    kb.git("checkout", "-q", "main")
    kb.write("docs/guide.md", GUIDE.replace("How to keep", "How we keep"))
    kb.ok("ingest", "-q")
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "we", **at(20))
    kb.git("merge", "-q", "-X", "theirs", "side", check=False)
    kb.ok("ingest", "-q")
    kb.git("add", "-A")
    kb.git("commit", "-q", "--no-edit", "-m", "merge", "--allow-empty", check=False, **at(40))
    kb.ok("ingest", "-q")
    assert story.subjects() == ["fondant", "knowledge base"]


def fake_gpg(tmp_path, verified):
    program = tmp_path / "gpg"
    program.write_text(
        f"#!/bin/sh\ncase \"$*\" in *--verify*) printf '{verified}'; exit 0;; esac\ncat >/dev/null\n"
        'echo "[GNUPG:] SIG_CREATED D 1 8 00 1 F" >&2\nprintf -- "-----BEGIN PGP SIGNATURE-----\\n\\nfake\\n-----END PGP SIGNATURE-----\\n"\n'
    )
    program.chmod(0o755)
    return str(program)


def test_signatures(story, tmp_path):
    kb = story.kb
    kb.git(
        "config", "gpg.program", fake_gpg(tmp_path, "[GNUPG:] GOODSIG 0123456789ABCDEF Ann \\033[2J<a@x>\\n[GNUPG:] TRUST_FULLY\\n")
    )
    kb.git("config", "commit.gpgsign", "true")
    story.commit(guide("fondant"))
    assert "signature" not in story.chain()[0]
    signed, unsigned = story.chain(FEED, "--show-signature")
    assert (signed["signature"]["status"], unsigned["signature"]["status"]) == ("G", "N")
    kb.git("config", "log.showSignature", "true")
    text = kb.ok("show", "--history", FEED)
    assert "Signed: G (good) by Ann \\x1b[2J<a@x>\n" in text
    assert "Signed: N (none)\n" in text
    assert "Signed" not in kb.ok("show", "--history", "--no-show-signature", FEED)


def test_what_has_no_chain(story):
    assert_message(story.kb.run("show", "--history", "docs/guide.md"), 1, "is a document, not a section", "git kb log")
    assert story.kb.run("show", "--history", "nope").code == 1
    assert story.kb.run("show", "--history", "aaaaaaaa").code == 1
    assert story.kb.run("show", "--show-signature", FEED).code == 129
    assert [c["id"] for c in story.kb.json("show", "--history", FEED, "docs/guide.md:5")] == [FEED, "docs/guide.md:5"]


def test_a_damaged_manifest_in_history_is_named(story):
    kb = story.kb
    path = "kb/documents/docs--guide.md.toml"
    good = kb.read(path)
    kb.write(path, b"\xff")
    kb.commit("damage")
    kb.write(path, good)
    kb.commit("mended")
    done = kb.run("show", "--history", FEED)
    assert done.code == 0
    assert "docs--guide.md.toml' is damaged" in done.err
    assert done.out.count("section ") >= 2


def test_front_matter_and_an_unborn_branch(tmp_path):
    kb = Kb.create(tmp_path / "young", {})
    kb.write("a.md", "---\nauthor: Ann\n---\n# A\n\nText.\n")
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    assert [link["oid"] for link in kb.json("show", "--history", "a.md#a")["chain"]] == [None]
    row = next(line for line in kb.ok("ls-sections", "--format", "{role} {citation}").splitlines() if line.startswith("front"))
    assert [link["oid"] for link in kb.json("show", "--history", row.split()[1])["chain"]] == [None]
    assert os.path.isdir(kb.path(".git/kb"))
