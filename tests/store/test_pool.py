"""The section pool: reading, abbreviations, and writers that race."""

import pytest
from kb import Kb

from git_kb.model.section import DamagedSection, Section, encode_section, section_id
from git_kb.repo.protocol import RefMoved
from git_kb.store import pool as pool_module
from git_kb.store.pool import AmbiguousSection, Pool, PoolWriter, UnknownSection, pool_path


@pytest.fixture(params=["sha1", "sha256"])
def kb(tmp_path, request):
    return Kb.create(tmp_path / "repo", {}, request.param)


@pytest.fixture
def repo(kb):
    with kb.repo() as repository:
        yield repository
    kb.git("fsck", "--strict", "--no-dangling")


def encoded(text):
    data = encode_section(Section("text/plain", text.encode()))
    return section_id(data), data


def store(repo, *texts):
    """Put sections in the pool; return their kbids."""
    writer = PoolWriter(Pool(repo))
    kbids = []
    for text in texts:
        kbid, data = encoded(text)
        kbids.append(kbid)
        if not writer.has(kbid):
            writer.add(kbid, data)
    writer.commit("some sections\n")
    return kbids


def test_an_empty_pool(repo):
    pool = Pool(repo)
    assert (pool.commit, len(pool), list(pool.kbids())) == (None, 0, [])
    with pytest.raises(UnknownSection):
        pool.find("abcd")
    assert "aaaaaaaaaaaaaaaaaaaaaaaaaa" not in pool


@pytest.mark.parametrize("n", [1, 5, pool_module.LOOSE_LIMIT, pool_module.LOOSE_LIMIT + 1, 300])
def test_what_goes_in_comes_out(repo, n):
    """On both sides of the size where a pack begins."""
    texts = [f"Section number {i}." for i in range(n)]
    kbids = store(repo, *texts)
    pool = Pool(repo)
    assert list(pool.kbids()) == sorted(kbids)
    assert len(pool) == n
    for kbid, text in zip(kbids, texts, strict=True):
        section = pool.read(kbid)
        assert (section.mime, section.content) == ("text/plain", text.encode())
    asked = [kbids[0], "a" * 26, *kbids]
    found = list(pool.read_many(asked))
    assert [k for k, _ in found] == asked
    assert [s.content.decode() if s else None for _, s in found] == [texts[0], None, *texts]


def test_the_pool_is_laid_out_as_the_format_says(kb, repo):
    (kbid,) = store(repo, "A section.")
    assert kb.git("ls-tree", "-r", "--name-only", "refs/kb/sections") == f"{kbid[:2]}/{kbid[2:]}" == pool_path(kbid).decode()
    assert kb.git("cat-file", "blob", f"refs/kb/sections:{kbid[:2]}/{kbid[2:]}") == "section text/plain 10\0A section."


def test_abbreviations(repo):
    """Search for two sections that share four characters, as git does with object ids."""
    by_start = {}
    n = 0
    while True:
        kbid, _ = encoded(f"Text {n}.")
        if kbid[:4] in by_start:
            break
        by_start[kbid[:4]] = n
        n += 1
    first, second = store(repo, f"Text {by_start[kbid[:4]]}.", f"Text {n}.")
    pool = Pool(repo)
    assert pool.find(first) == first
    with pytest.raises(AmbiguousSection) as caught:
        pool.find(first[:4])
    assert caught.value.candidates == sorted([first, second])
    length = next(i for i in range(26) if first[:i] != second[:i])
    assert (pool.find(first[:length]), pool.find(second[:length])) == (first, second)
    with pytest.raises(UnknownSection):
        pool.find("2222" if first[:4] != "2222" else "3333")


def test_adding_what_is_there_makes_no_commit(repo):
    store(repo, "One.", "Two.")
    commit = Pool(repo).commit
    store(repo, "Two.", "One.")
    assert Pool(repo).commit == commit


def test_a_writer_that_lost_a_race_unites_both(kb, repo):
    """A name is a hash, so two pools can always be united."""
    store(repo, "Base.")
    late = PoolWriter(Pool(repo))
    kbid, data = encoded("From the late one.")
    late.add(kbid, data)
    both_kbid, both_data = encoded("From both.")
    late.add(both_kbid, both_data)
    store(repo, "From the early one.", "From both.")
    late.commit("late\n")
    assert sorted(Pool(repo).kbids()) == sorted(
        encoded(t)[0] for t in ("Base.", "From the early one.", "From the late one.", "From both.")
    )
    assert kb.git("rev-list", "--count", "refs/kb/sections") == "3"
    assert late.pool.commit == Pool(repo).commit


def test_a_writer_that_always_loses_gives_up(repo, monkeypatch):
    writer = PoolWriter(Pool(repo))
    kbid, data = encoded("Never lucky.")
    writer.add(kbid, data)
    tries = []

    def lose(*args):
        tries.append(args)
        raise RefMoved("refs/kb/sections", None, "0" * 40)

    monkeypatch.setattr(repo, "update_ref", lose)
    with pytest.raises(RefMoved):
        writer.commit("unlucky\n")
    assert len(tries) == pool_module.MAX_TRIES


def test_nothing_is_visible_before_the_commit(kb, repo):
    for n in (1, 200):
        writer = PoolWriter(Pool(repo))
        for i in range(n):
            writer.add(*encoded(f"Section {i}."))
        assert len(writer) == n
        assert Pool(repo).commit is None
        writer.abort()
        assert len(writer) == 0
        assert kb.git("for-each-ref") == ""
    assert kb.git("count-objects") == "0 objects, 0 kilobytes"


def test_deflated_sections_and_plain_ones_mix(repo):
    import zlib
    from hashlib import sha1, sha256

    writer = PoolWriter(Pool(repo))
    first, data = encoded("Plain.")
    writer.add(first, data)
    second, data = encoded("Deflated by a worker.")
    hasher = sha256 if repo.place.object_format == "sha256" else sha1
    oid = hasher(b"blob %d\0" % len(data) + data).hexdigest()
    writer.add_deflated(second, oid, len(data), zlib.compress(data))
    assert writer.has(first)
    assert writer.has(second)
    assert writer.commit("both\n") == 2
    assert Pool(repo).read(second).content == b"Deflated by a worker."
    assert Pool(repo).read(first).content == b"Plain."


def test_refresh_sees_what_others_added(repo):
    pool = Pool(repo)
    (kbid,) = store(repo, "New.")
    assert kbid not in pool
    pool.refresh()
    assert kbid in pool


def put(kb, path, data):
    """Set one entry of the pool behind our back."""
    blob = kb.git("hash-object", "-w", "--stdin", input=data)
    index = kb.path(".git/kb-index").decode()
    kb.git("read-tree", "refs/kb/sections", GIT_INDEX_FILE=index)
    kb.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", GIT_INDEX_FILE=index)
    tree = kb.git("write-tree", GIT_INDEX_FILE=index)
    kb.git("update-ref", "refs/kb/sections", kb.git("commit-tree", "-p", "refs/kb/sections", "-m", "put", tree))


@pytest.mark.parametrize(
    "data", [b"", b"section text/plain 4\0Text and more", b"section text/plain 5\0Other", b"tex", b"section text/plain 05\0Text."]
)
def test_a_damaged_section_is_never_taken_for_a_whole_one(kb, repo, data):
    kbid, other = store(repo, "Text.", "Whole.")
    put(kb, pool_path(kbid).decode(), data)
    pool = Pool(repo)
    with pytest.raises(DamagedSection) as caught:
        pool.read(kbid)
    assert kbid in str(caught.value)
    assert pool.read(other).content == b"Whole."
    # Many are read without hashing each: a wrong name is for `fsck` and `read` to see, bytes that are no section for all.
    if not data.endswith((b"Other", b"Text.")):
        assert dict(pool.read_many([kbid, other]))[kbid] is None


def test_entries_that_are_no_sections_are_not_listed(kb, repo):
    (kbid,) = store(repo, "Text.")
    put(kb, "README", b"hello")
    put(kb, "ab/README", b"hello")
    put(kb, "ab/cd/ef", b"hello")
    assert list(Pool(repo).kbids()) == [kbid]
    assert list(Pool(repo).odd_entries()) == [b"README", b"ab/README", b"ab/cd"]
    with pytest.raises(UnknownSection):
        Pool(repo).find("READ")


@pytest.mark.parametrize("kind", ["blob", "tag"])
def test_a_ref_that_is_no_pool(kb, repo, kind):
    from git_kb.errors import KbError

    blob = kb.git("hash-object", "-w", "--stdin", input=b"no pool")
    if kind == "blob":
        kb.git("update-ref", "refs/kb/sections", blob)
    else:
        kb.git("tag", "-a", "-m", "x", "t", blob)
        kb.git("update-ref", "refs/kb/sections", kb.git("rev-parse", "refs/tags/t"))
    with pytest.raises(KbError):
        Pool(repo)
