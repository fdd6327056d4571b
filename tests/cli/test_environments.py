"""Every odd set-up of git, and the same day of work in each: what works in a plain repository works there, or says why not."""

import os
import subprocess
import sys

import pytest
from kb import CORPUS, Kb, git, in_process, needs_obedience, needs_reftable, process

ODD_NAMES = {
    "with space.md": "# Space\n\nThe kestrel of spaces.\n",
    'with "quotes".md': "# Quotes\n\nThe kestrel of quotes.\n",
    "new\nline.md": "# Line\n\nThe kestrel of lines.\n",
    "-dash.md": "# Dash\n\nThe kestrel of dashes.\n",
    ":(glob)x.md": "# Magic\n\nThe kestrel of pathspecs.\n",
    "caf\u00e9.md": "# Accent\n\nThe kestrel of accents.\n",
    "日本/語.md": "# Script\n\nThe kestrel of scripts.\n",
    "deep/-/x.md": "# Deep\n\nThe kestrel of depths.\n",
}


def plain(tmp_path):
    return Kb.create(tmp_path / "r")


def linked_worktree(tmp_path):
    plain(tmp_path).git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    return Kb(tmp_path / "side")


def submodule(tmp_path):
    Kb.create(tmp_path / "origin")
    above = Kb.create(tmp_path / "above", {"README.md": "# Above\n"})
    above.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "origin"), "sub")
    above.commit("a submodule")
    return Kb(tmp_path / "above" / "sub")


def superproject(tmp_path):
    kb = Kb.create(tmp_path / "r")
    Kb.create(tmp_path / "origin", {"inner.md": "# Inner\n\nA wyvern.\n"})
    kb.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "origin"), "sub")
    kb.commit("a submodule")
    return kb


def sha256(tmp_path):
    return Kb.create(tmp_path / "r", object_format="sha256")


def reftable(tmp_path):
    git("init", "-q", "-b", "main", "--ref-format=reftable", str(tmp_path / "r"), cwd="/")
    kb = Kb(tmp_path / "r")
    for name, data in CORPUS.items():
        kb.write(name, data)
    kb.commit("sources")
    return kb


def detached(tmp_path):
    kb = plain(tmp_path)
    kb.git("checkout", "-q", "--detach")
    return kb


def unborn(tmp_path):
    git("init", "-q", "-b", "main", str(tmp_path / "r"), cwd="/")
    kb = Kb(tmp_path / "r")
    for name, data in CORPUS.items():
        kb.write(name, data)
    return kb


def configured(*settings):
    def make(tmp_path):
        kb = plain(tmp_path)
        for setting in settings:
            kb.git("config", *setting.split("=", 1))
        return kb

    return make


def crlf(tmp_path):
    kb = plain(tmp_path)
    kb.git("config", "core.autocrlf", "true")
    for name, data in CORPUS.items():
        kb.write(name, data.replace("\n", "\r\n"))
    kb.git("add", "--renormalize", ".")
    return kb


def separate_git_dir(tmp_path):
    git("init", "-q", "-b", "main", f"--separate-git-dir={tmp_path}/elsewhere", str(tmp_path / "r"), cwd="/")
    kb = Kb(tmp_path / "r")
    for name, data in CORPUS.items():
        kb.write(name, data)
    kb.commit("sources")
    return kb


def shallow(tmp_path):
    origin = plain(tmp_path)
    origin.commit("another")
    git("clone", "-q", "--depth=1", f"file://{origin.top}", str(tmp_path / "shallow"), cwd="/")
    return Kb(tmp_path / "shallow")


def partial(tmp_path):
    origin = plain(tmp_path)
    origin.git("config", "uploadpack.allowFilter", "true")
    git("clone", "-q", "--filter=blob:none", f"file://{origin.top}", str(tmp_path / "partial"), cwd="/")
    return Kb(tmp_path / "partial")


def sparse(tmp_path):
    kb = Kb.create(tmp_path / "r", {**CORPUS, "left/out.md": "# Out\n"})
    kb.git("sparse-checkout", "set", "docs", "src", "kb")
    return kb


def odd_directory(tmp_path):
    return Kb.create(tmp_path / "a 'b' \"c\"\n日本 -d")


def packed(tmp_path):
    kb = plain(tmp_path)
    kb.git("gc", "-q")
    kb.git("pack-refs", "--all", "--prune")
    return kb


def alternates(tmp_path):
    plain(tmp_path)
    git("clone", "-q", "--shared", str(tmp_path / "r"), str(tmp_path / "shared"), cwd="/")
    return Kb(tmp_path / "shared")


SETUPS = [
    plain,
    linked_worktree,
    submodule,
    superproject,
    sha256,
    pytest.param(reftable, marks=needs_reftable),
    detached,
    unborn,
    crlf,
    separate_git_dir,
    shallow,
    partial,
    sparse,
    odd_directory,
    packed,
    alternates,
]
CONFIGURATIONS = [
    ("core.precomposeunicode=true",),
    ("core.ignorecase=true",),
    ("core.fileMode=false",),
    ("core.quotePath=false",),
    ("core.untrackedCache=true", "core.fsmonitor=false"),
    ("core.splitIndex=true",),
    ("index.version=4",),
    ("core.commitGraph=false",),
    ("status.showUntrackedFiles=no",),
    ("diff.noprefix=true", "diff.external=false", "diff.mnemonicPrefix=true"),
    ("log.date=relative", "log.showSignature=true", "log.decorate=full"),
    ("color.ui=always",),
    ("core.pager=false",),
    ("i18n.logOutputEncoding=ISO-8859-1",),
    ("core.hooksPath=/nonexistent/hooks",),
    ("core.attributesFile=/nonexistent/attributes", "core.excludesFile=/nonexistent/excludes"),
    ("gc.auto=1",),
    ("transfer.fsckObjects=true", "fetch.fsckObjects=true"),
    ("core.logAllRefUpdates=false",),
    ("extensions.worktreeConfig=true",),
    ("alias.kb=!false",),
]


def a_day(kb):
    """Do what a user does, in order, and check each answer."""
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    assert kb.hits("level ground")[0].startswith("docs--guide.md#")
    assert kb.run("search", "no-such-word-anywhere").code == 1
    assert "hive" in kb.ok("query", "Where should the hive stand?")
    kb.commit("knowledge base")
    assert kb.hits("--at", "HEAD", "level ground") == kb.hits("level ground") == kb.hits("--cached", "level ground")
    assert "fatal" not in kb.run("status").err
    assert "knowledge base" in kb.ok("log")
    kbid = kb.json("search", "level ground")["results"][0]["kbid"]
    assert "level ground" in kb.ok("show", kbid)
    assert "level ground" in kb.ok("cat-section", "-p", kbid)
    kb.write("docs/new.md", "# New\n\nThe ocelot sleeps.\n")
    kb.write("docs/guide.md", CORPUS["docs/guide.md"].replace("syrup", "fondant"))
    kb.ok("ingest", "-q")
    assert kb.hits("ocelot") == kb.hits("ocelot sleeps") != []
    assert kb.hits("syrup") == []
    assert kb.hits("--at", "HEAD", "syrup") != []
    before = kb.manifests()
    kb.ok("ingest", "-q")
    assert kb.manifests() == before
    kb.commit("more")
    assert kb.hits("--since", "HEAD~1", "ocelot OR hive") == kb.hits("ocelot")
    assert kb.git("status", "--porcelain") == ""
    kb.check()


@pytest.mark.parametrize("setup", SETUPS)
def test_a_day_of_work(tmp_path, setup):
    a_day(setup(tmp_path))


@pytest.mark.parametrize("settings", CONFIGURATIONS, ids=lambda settings: settings[0].partition("=")[0])
def test_whatever_is_configured(tmp_path, settings):
    a_day(configured(*settings)(tmp_path))


def test_a_submodule_leaves_what_is_above_it_alone(tmp_path):
    kb = submodule(tmp_path)
    a_day(kb)
    above = Kb(tmp_path / "above")
    assert above.git("status", "--porcelain", "--ignore-submodules=none").split() == ["M", "sub"]
    assert not os.path.exists(above.path(".git/kb"))


def test_what_is_in_a_submodule_is_left_to_it(tmp_path):
    kb = superproject(tmp_path)
    a_day(kb)
    assert kb.hits("wyvern") == []


def test_odd_names(tmp_path):
    kb = Kb.create(tmp_path / "r", {**CORPUS, **ODD_NAMES})
    kb.write(b"not utf-8 \xff\xfe.md", "# Bytes\n\nThe kestrel of bytes.\n")
    kb.commit("bytes")
    a_day(kb)
    assert len(kb.hits("kestrel", "--limit", "20")) == len(ODD_NAMES) + 1
    for row in kb.json("search", "kestrel", "--limit", "20")["results"]:
        assert row["kbid"] in kb.ok("show", "--json", row["citation"])


ALIKE = {"Read.md": "# A\n\nThe kestrel.\n", "read.md": "# B\n\nThe kestrel!\n"}
ALIKE |= {"caf\u00e9.md": "# C\n\nThe kestrel?\n", "cafe\u0301.md": "# D\n\nThe kestrel;\n", "other.md": "# E\n\nText.\n"}


def test_names_that_differ_in_case_or_composition_only(tmp_path):
    """All are documents here; that another file system cannot hold them is told once."""
    kb = Kb.create(tmp_path / "r", ALIKE)
    kb.ok("init", "-q")
    done = kb.run("ingest", ".")
    assert done.code == 0
    assert len(set(kb.documents())) == 5
    assert len(kb.hits("kestrel")) == 4
    # Letters composed otherwise give another docid; so there is nothing to tell.
    assert done.err.count("differ in case only") == 1
    assert "differ" not in kb.run("ingest", ".").err


def test_where_case_does_not_count_no_manifest_replaces_another(tmp_path):
    kb = Kb.create(tmp_path / "r", ALIKE)
    kb.git("config", "core.ignoreCase", "true")
    kb.ok("init", "-q")
    for _ in range(2):
        done = kb.run("ingest", ".")
        assert done.code == 0
        assert done.err.count("its manifest would replace that of document") == 1
        assert len(kb.documents()) == len({docid.casefold() for docid in kb.documents()}) == 4


def test_a_bare_repository_is_read(tmp_path):
    model = Kb.ready(tmp_path / "model")
    git("clone", "-q", "--bare", model.top, str(tmp_path / "bare.git"), cwd="/")
    bare = tmp_path / "bare.git"
    git("fetch", "-q", model.top, "refs/kb/sections:refs/kb/sections", cwd=bare)
    assert "docs/guide.md" in in_process(bare, "search", "--at", "HEAD", "level ground").out
    assert in_process(bare, "query", "--at", "HEAD", "Where should the hive stand?").code == 0
    # Where there is no work tree, HEAD stands in for it.
    assert "docs/guide.md" in in_process(bare, "search", "level ground").out
    for verb in (["ingest"], ["init"], ["search", "--since", "HEAD", "--cached", "x"]):
        done = in_process(bare, *verb)
        assert (done.code, done.out) in ((128, ""), (1, "")), verb
        assert done.err.startswith(("fatal: ", "nothing found")), verb


def test_a_sparse_checkout_without_the_knowledge_base(tmp_path):
    """It is there, and nothing of ours may say otherwise, or make another one."""
    kb = Kb.ready(tmp_path / "r")
    kb.git("sparse-checkout", "set", "docs")
    assert not os.path.exists(kb.path("kb"))
    for verb in (["search", "level"], ["ingest"], ["status"], ["init"], ["query", "Where?"], ["ls-documents"]):
        done = kb.run(*verb)
        assert done.code == 128, verb
        assert "outside of its sparse checkout" in done.err
        assert "git sparse-checkout add kb" in done.err
    assert not os.path.exists(kb.path("kb"))
    assert kb.hits("--cached", "level ground") == kb.hits("--at", "HEAD", "level ground") != []
    kb.git("sparse-checkout", "add", "kb")
    assert kb.hits("level ground")


def test_init_where_git_would_refuse_what_it_writes(tmp_path):
    kb = plain(tmp_path)
    kb.git("sparse-checkout", "set", "docs")
    assert "git sparse-checkout add kb" in kb.run("init").err
    kb.git("sparse-checkout", "add", "kb")
    assert "sparse" not in kb.run("init").err


@needs_obedience
def test_a_repository_that_may_only_be_read(tmp_path):
    kb = Kb.ready(tmp_path / "r")
    subprocess.run(["chmod", "-R", "a-w", kb.top], check=True)
    try:
        for verb in (
            ["search", "level"],
            ["query", "Where should the hive stand?"],
            ["status"],
            ["log"],
            ["fsck"],
            ["ls-sections"],
        ):
            done = process(kb.top, *verb, obey=True)
            assert done.code == 0, (verb, done)
        done = process(kb.top, "ingest", "--force", obey=True)
        assert done.code == 128
        assert "Traceback" not in done.err
        assert kb.path("").decode().rstrip("/") in done.err
    finally:
        subprocess.run(["chmod", "-R", "u+w", kb.top], check=True)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can give a repository away")
def test_a_repository_of_somebody_else(tmp_path):
    """Git refuses it, in its own words, and so do we: nothing in it is read around git."""
    kb = Kb.ready(tmp_path / "r")
    subprocess.run(["chown", "-R", "12345", kb.top], check=True)
    for verb in (["search", "level"], ["ingest"], ["status"], ["log"], ["fsck"]):
        done = kb.run(*verb)
        assert done.code == 128, (verb, done)
        assert "dubious ownership" in done.err
        assert "safe.directory" in done.err
        assert done.out == ""


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-16"])
@pytest.mark.parametrize(
    "verb", [["search", "kestrel"], ["query", "What of the kestrel?"], ["log"], ["status"], ["ls-documents"], ["fsck"]]
)
def test_streams_of_another_encoding(odd, encoding, verb):
    """A console that cannot show a character gets another one, and no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "git_kb", *verb],
        cwd=odd.top,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "PYTHONIOENCODING": encoding},
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    kb = Kb.create(tmp_path_factory.mktemp("odd") / "r", {**ODD_NAMES, "emoji 🐝.md": "# 🐝 Bee\n\nThe kestrel 🦅 of emoji.\n"})
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    kb.commit("knowledge base 🐝")
    return kb
