import os
import struct
import zlib
from hashlib import sha1, sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_kb.repo.discover import discover
from git_kb.repo.objects import object_id
from git_kb.repo.pack import CannotWritePack, PackWriter, encode_index

from .gitrepo import git, init, line

in_one_repo = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
contents = st.one_of(
    st.binary(max_size=300), st.builds(lambda b, n: b * n, st.binary(min_size=1, max_size=9), st.integers(0, 9000))
)


@pytest.fixture
def place(plain_top):
    return discover(plain_top)


def names(place):
    return sorted(os.listdir(place.objects_dir + "/pack"))


@in_one_repo
@given(st.lists(contents, max_size=60), st.integers(0, 9))
def test_pack_round_trip(plain_top, place, blobs, level):
    """Every object can be read by git, from a pack that git finds whole."""
    with PackWriter(place.objects_dir, place.object_format, level) as pack:
        oids = [pack.add("blob", data) for data in blobs]
        assert len(pack) == len(set(blobs))
        assert all(oid in pack for oid in oids)
        name = pack.finish()
    assert oids == [object_id("blob", data, place.object_format) for data in blobs]
    if not blobs:
        assert name is None
        return
    listing = line("verify-pack", "-v", f".git/objects/pack/{name}.idx", cwd=plain_top)
    assert {row.split(" ")[0] for row in listing.split("\n")[: len(set(blobs))]} == set(oids)
    batch = git("cat-file", "--batch", "--buffer", cwd=plain_top, input="\n".join(oids).encode())
    assert batch == b"".join(b"%s blob %d\n%s\n" % (o.encode(), len(d), d) for o, d in zip(oids, blobs, strict=True))
    assert all((os.stat(f"{place.objects_dir}/pack/{name}.{end}").st_mode & 0o777) == 0o444 for end in ("pack", "idx"))


def test_all_types_and_a_bulk_of_objects(plain_top, place):
    with PackWriter(place.objects_dir, place.object_format) as pack:
        blobs = [pack.add("blob", b"%d" % n) for n in range(3000)]
        tree = pack.add("tree", b"".join(b"100644 %04d\0%s" % (n, bytes.fromhex(oid)) for n, oid in enumerate(blobs)))
        ident = b"A <a@example.com> 1 +0000"
        commit = pack.add("commit", b"tree %s\nauthor %s\ncommitter %s\n\nx\n" % (tree.encode(), ident, ident))
        tag = pack.add("tag", b"object %s\ntype commit\ntag t\ntagger %s\n\nx\n" % (commit.encode(), ident))
    git("update-ref", "refs/tags/t", tag, cwd=plain_top)
    assert len(git("ls-tree", "-r", "t", cwd=plain_top).splitlines()) == 3000
    git("fsck", "--strict", "--full", cwd=plain_top)
    assert pack.finish() == pack.name


def test_objects_deflated_elsewhere(plain_top, place):
    data = b"far away" * 50
    oid = object_id("blob", data, place.object_format)
    with PackWriter(place.objects_dir, place.object_format) as pack:
        pack.add_compressed(oid, "blob", len(data), zlib.compress(data, 6))
        pack.add_compressed(oid, "blob", len(data), zlib.compress(data, 9))
        assert pack.add("blob", data) == oid
        assert len(pack) == 1
    assert git("cat-file", "blob", oid, cwd=plain_top) == data


def test_the_same_objects_give_the_same_pack(place):
    packs = set()
    for _ in range(2):
        with PackWriter(place.objects_dir, place.object_format, fsync=False) as pack:
            pack.add("blob", b"x")
        packs.add(pack.name)
    assert names(place) == sorted(f"{name}.{end}" for name in packs for end in ("idx", "pack"))
    assert len(packs) == 1


def test_nothing_is_seen_before_the_end_and_nothing_left_after_an_error(plain_top, place):
    with pytest.raises(RuntimeError), PackWriter(place.objects_dir, place.object_format) as pack:  # noqa: PT012
        oid = pack.add("blob", b"x")
        (temporary,) = names(place)
        assert temporary.startswith("tmp_pack_")
        assert git("cat-file", "-t", oid, cwd=plain_top, check=False) == b""
        raise RuntimeError
    assert names(place) == []
    pack = PackWriter(place.objects_dir, place.object_format)
    pack.abort()
    pack.abort()
    assert pack.finish() is None
    assert names(place) == []


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_failure_while_publishing_leaves_nothing_git_would_read(plain_top, place, monkeypatch, function, nth):
    """Syncs: pack, index, directory. Renames: pack, index."""
    real, calls = getattr(os, function), []

    def fail(*args):
        calls.append(args)
        if len(calls) == nth:
            raise OSError(28, "No space left on device")
        return real(*args)

    pack = PackWriter(place.objects_dir, place.object_format)
    oid = pack.add("blob", b"x")
    monkeypatch.setattr(os, function, fail)
    if (function, nth) == ("replace", 3):
        assert pack.finish()
        return
    with pytest.raises(CannotWritePack, match="No space left on device"):
        pack.finish()
    monkeypatch.undo()
    assert not [name for name in names(place) if name.startswith("tmp_")]
    if (function, nth) != ("fsync", 3):
        assert git("cat-file", "-t", oid, cwd=plain_top, check=False) == b""
        assert not [name for name in names(place) if name.endswith(".idx")]
    git("fsck", "--strict", cwd=plain_top)


def test_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "objects").write_text("a file")
    with pytest.raises(CannotWritePack, match="objects"):
        PackWriter(str(tmp_path / "objects"), "sha1")


@pytest.mark.parametrize(("object_format", "new_hash"), [("sha1", sha1), ("sha256", sha256)])
def test_offsets_beyond_2_gb_go_to_the_64_bit_table(tmp_path, object_format, new_hash):
    top = init(tmp_path / "repo", object_format)
    offsets = [12, (1 << 31) - 1, 1 << 31, 5 << 32, 1 << 32, 13]
    entries = sorted((new_hash(b"%d" % n).digest(), n * 7919 % (1 << 32), offset) for n, offset in enumerate(offsets))
    index = encode_index(entries, new_hash(b"pack").digest(), new_hash)
    rows = line("show-index", f"--object-format={object_format}", cwd=top, input=index).split("\n")
    assert rows == [f"{offset} {oid.hex()} ({crc:08x})" for oid, crc, offset in entries]
    assert struct.unpack(">I", index[8 + 255 * 4 : 8 + 256 * 4]) == (len(entries),)
