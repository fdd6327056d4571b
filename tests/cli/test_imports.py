"""What the short way through `git kb search` may import: a cold start is part of the design (docs/ARCHITECTURE.md)."""

import json
import subprocess
import sys

import pytest
from kb import Kb, process_environ

# Each costs some milliseconds. `re` is not among them: the tokenizer is made of regular expressions, and base64 needs it too.
# Nor is `hashlib`: a section's name is checked before its text is shown.
FORBIDDEN = {
    "argparse", "ast", "asyncio", "collections.abc.Sequence", "concurrent", "configparser", "ctypes", "dataclasses", "datetime", "difflib",
    "dulwich", "email", "importlib.metadata", "inspect", "json", "logging", "multiprocessing", "numpy", "pathlib", "pickle", "pygit2",
    "random", "secrets", "shutil", "signal", "socket", "sortedcontainers", "ssl", "string", "subprocess", "tempfile", "threading",
    "tomlkit", "tomllib", "tree_sitter", "typing", "unicodedata", "urllib", "weakref", "yaml",
}  # fmt: skip
OURS = {
    "git_kb", "git_kb.errors",
    "git_kb.cli", "git_kb.cli.main", "git_kb.cli.env", "git_kb.cli.fast",
    "git_kb.repo", "git_kb.repo.discover", "git_kb.repo.regular",
    "git_kb.store", "git_kb.store.root", "git_kb.store.stamps", "git_kb.store.viewfile", "git_kb.store.content",
    "git_kb.store.sourcestate", "git_kb.model", "git_kb.model.digest", "git_kb.model.section", "git_kb.model.source",
    "git_kb.index", "git_kb.index.btree", "git_kb.index.pagefile", "git_kb.index.segment", "git_kb.index.segments", "git_kb.index.varint",
    "git_kb.index.view",
    "git_kb.text", "git_kb.text.words", "git_kb.text.stems",
    "git_kb.search", "git_kb.search.agreed", "git_kb.search.find", "git_kb.search.match", "git_kb.search.query", "git_kb.search.rank", "git_kb.search.score", "git_kb.search.snippet",
    "git_kb.output", "git_kb.output.hits", "git_kb.output.terminal",
}  # fmt: skip
PROGRAM = """
import sys
before = set(sys.modules)
from git_kb.cli.main import main
code = main(sys.argv[1:])
sys.stdout.flush()
names = sorted(set(sys.modules) - before)
import json
json.dump([code, names], sys.stderr)
"""


def imported(top, *args):
    """Return (exit code, what `git kb` imported beyond what the interpreter starts with)."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *args], cwd=top, capture_output=True, env=process_environ())
    code, names = json.loads(done.stderr.splitlines()[-1])
    return code, set(names)


@pytest.mark.parametrize("query", [["hive"], ["syrup", "spring", "--limit", "3"], ['"level ground"', "fee*", "hive"]])
def test_search_imports_little(tmp_path, query):
    kb = Kb.ready(tmp_path / "repo")
    code, names = imported(kb.top, "search", *query)
    assert code == 0
    assert names & FORBIDDEN == set()
    more = {"git_kb.text.beginnings"} if any("*" in word for word in query) else set()
    assert {n for n in names if n.split(".")[0] == "git_kb"} <= OURS | more


def test_search_at_a_revision_imports_little(tmp_path):
    kb = Kb.ready(tmp_path / "repo")
    kb.ok("search", "--at", "HEAD", "hive")
    code, names = imported(kb.top, "search", "--at", "HEAD", "hive")
    assert code == 0
    assert names & FORBIDDEN == set()
    assert {n for n in names if n.split(".")[0] == "git_kb"} <= OURS | {
        "git_kb.repo.catfile",
        "git_kb.repo.spawn",
        "git_kb.store.treestate",
    }


def test_other_languages_import_little_more(tmp_path):
    text = "# Der Bienenstock\n\nDer Bienenstock steht auf ebenem Boden, und das Flugloch zeigt nach Süden. Die Häuser sind es nicht.\n"
    kb = Kb.ready(tmp_path / "repo", {"de.md": text})
    code, names = imported(kb.top, "search", "Haus", "und", "nördlich")
    assert code == 0
    assert names & FORBIDDEN == {"unicodedata"}
    # One of the words is in no section, so a nearer one is looked for.
    more = {"git_kb.text.languages", "git_kb.text.function_words", "git_kb.search.spelling", "git_kb.search.telling"}
    assert {n for n in names if n.split(".")[0] == "git_kb"} <= OURS | more


def test_the_long_way_is_noticed(tmp_path):
    """The test above would see it, were the short way not taken."""
    kb = Kb.ready(tmp_path / "repo")
    code, names = imported(kb.top, "search", "--at", "HEAD", "hive")
    assert code == 0
    assert names & FORBIDDEN >= {"argparse", "pygit2", "dataclasses"}


def test_both_ways_say_the_same(tmp_path):
    kb = Kb.ready(tmp_path / "repo")
    for query in (["hive"], ["feed", "colony"], ["swarm"]):
        assert kb.ok("search", *query) == kb.ok("search", "-q", *query) == kb.ok("search", "--offset", "0", *query)


def test_a_merge_driver_imports_little(tmp_path):
    """Git starts one for each file that both sides changed."""
    kb = Kb.ready(tmp_path / "repo")
    manifest = kb.read("kb/documents/docs--guide.md.toml")
    kb.write("base", manifest)
    kb.write("ours", manifest.replace(b'title = "Guide"', b'title = "Ours"'))
    kb.write("theirs", manifest.replace(b"\n\n", b'\ntier = "S"\n\n', 1))
    code, names = imported(kb.top, "merge-driver", "manifest", "--marker-size=7", "--path=x", "--", "base", "ours", "theirs")
    assert code == 0
    assert kb.read("ours").count(b'title = "Ours"') == kb.read("ours").count(b'tier = "S"') == 1
    assert names & (FORBIDDEN | {"re", "hashlib"}) == set()
    assert {n for n in names if n.split(".")[0] == "git_kb"} <= OURS | {
        "git_kb.cli.merge_driver",
        "git_kb.merge",
        "git_kb.merge.manifest",
        "git_kb.merge.order",
    }
