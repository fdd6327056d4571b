"""Documents of the work tree, of the index and of a tree; stamps."""

import os

import pytest
from kb import Kb

from git_kb.store.documents import decode_manifest, index_documents, tree_documents, worktree_documents
from git_kb.store.manifest import DamagedManifest
from git_kb.store.state import documents_tree


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


@pytest.fixture
def repo(kb):
    with kb.repo() as repository:
        yield repository


NAMES = ["docs--guide.md.toml", "notes.txt.toml", "src--weigh.py.toml"]


def three(repo):
    return worktree_documents(repo.place), index_documents(repo), tree_documents(repo, documents_tree(repo, "HEAD"))


def refuse(message):
    raise AssertionError(message)


def test_all_states_of_a_clean_tree_say_the_same(repo):
    loaded = [list(d.load_all(refuse)) for d in three(repo)]
    assert [m.docid for m in loaded[0]] == ["docs--guide.md", "notes.txt", "src--weigh.py"]
    assert loaded[0] == loaded[1] == loaded[2]
    assert [list(d.stamps) for d in three(repo)] == [NAMES] * 3


def test_keys_change_exactly_with_the_documents(kb, repo):
    before = [d.key for d in three(repo)]
    assert [d.key for d in three(repo)] == before
    assert len(set(before)) == 3
    kb.write("README", "no manifest")
    kb.git("add", "-A")
    assert [d.key for d in three(repo)] == before
    path = "kb/documents/notes.txt.toml"
    kb.write(path, kb.read(path).replace(b'title = "notes.txt"', b'title = "Notes"'))
    after = [d.key for d in three(repo)]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, True]
    kb.git("add", "-A")
    after = [d.key for d in three(repo)]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True]
    kb.commit()
    after = [d.key for d in three(repo)]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, False]


def test_the_stamp_of_a_changed_document_changes_and_no_other(kb, repo):
    for build in (worktree_documents, None):
        before = (worktree_documents(repo.place) if build else index_documents(repo)).stamps
        path = "kb/documents/notes.txt.toml"
        kb.write(path, kb.read(path) + b"# x\n")
        kb.git("add", "-A")
        after = (worktree_documents(repo.place) if build else index_documents(repo)).stamps
        assert [n for n in NAMES if before[n] != after[n]] == ["notes.txt.toml"]


def test_what_is_no_manifest_is_not_one(kb, repo):
    kb.write("kb/documents/README.md", "hello")
    kb.write("kb/documents/sub/x.toml", "hello")
    kb.write("kb/documents/.x.toml.0123456789ab.tmp", "hello")
    os.symlink("notes.txt.toml", kb.path("kb/documents/link.toml"))
    os.mkdir(kb.path("kb/documents/dir.toml"))
    kb.commit()
    on_disk, *stored = [list(d.stamps) for d in three(repo)]
    assert stored == [NAMES] * 2
    # On disk a link or a directory may stand where a manifest was, so it is listed, to be named as damaged.
    assert on_disk == sorted([*NAMES, "dir.toml", "link.toml"])
    warnings = []
    assert [m.docid + ".toml" for m in worktree_documents(repo.place).load_all(warnings.append)] == NAMES
    assert len(warnings) == 2


def test_damage_is_named_and_the_rest_is_read(kb, repo):
    kb.write("kb/documents/notes.txt.toml", "not toml")
    kb.commit()
    for documents in three(repo):
        warnings = []
        assert [m.docid for m in documents.load_all(warnings.append)] == ["docs--guide.md", "src--weigh.py"]
        assert len(warnings) == 1
        assert warnings[0].startswith("manifest 'notes.txt.toml' is damaged: ")


def test_a_manifest_that_goes_while_we_read(kb, repo):
    documents = worktree_documents(repo.place)
    os.unlink(kb.path("kb/documents/notes.txt.toml"))
    assert [m.docid for m in documents.load_all(refuse)] == ["docs--guide.md", "src--weigh.py"]


def test_a_conflict_in_the_index(kb, repo):
    """A manifest in conflict has no staged version."""
    path = "kb/documents/notes.txt.toml"
    for branch in ("left", "right"):
        kb.git("switch", "-q", "-c", branch, "main")
        kb.write(path, kb.read(path).replace(b'title = "notes.txt"', f'title = "{branch}"'.encode()))
        kb.commit(branch)
    kb.git("merge", "-q", "left", check=False)
    assert "notes.txt.toml" not in index_documents(repo).stamps
    done = kb.run("search", "syrup")
    assert done.code == 0
    assert "manifest 'notes.txt.toml' is damaged" in done.err


def test_no_documents_at_all(kb, repo):
    kb.git("rm", "-q", "-r", "kb/documents")
    kb.commit()
    for documents in three(repo):
        assert documents.stamps == {}
        assert list(documents.load_all(refuse)) == []


def test_decode():
    assert decode_manifest(b"\xef\xbb\xbfa\r\nb\n", "x.toml") == "a\nb\n"
    with pytest.raises(DamagedManifest) as caught:
        decode_manifest(b"abc\xff", "x.toml")
    assert str(caught.value) == "manifest 'x.toml' is damaged: it is not UTF-8 (byte 3)"
