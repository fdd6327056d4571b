"""What users of other tools have reported, where it could happen to us."""

import json
import os
import subprocess
import sys
import unicodedata

import pytest
from kb import CORPUS, ROOT, Kb, command, git, process, process_environ


def ready(tmp_path, files):
    return Kb.ready(tmp_path / "r", files)


def sources(kb, *query):
    """Return the sources a search gives, best first."""
    return [row["source"] for row in kb.json("search", *query)["results"]]


@pytest.mark.parametrize("written", ["NFC", "NFD"])
@pytest.mark.parametrize("linked", ["NFC", "NFD"])
def test_a_name_is_one_however_its_letters_are_composed(tmp_path, written, linked):
    name = unicodedata.normalize(written, "caf\u00e9.md")
    link = unicodedata.normalize(linked, "caf\u00e9.md")
    kb = ready(tmp_path, {name: "# Coffee\n\nThe roast.\n", "index.md": f"# Index\n\nSee [the roast]({link}).\n"})
    assert len(kb.documents()) == 2
    assert "index.md" in kb.ok("recall", name)
    (link,) = kb.json("recall", "index.md")["out"]["results"]
    assert link["state"] == "resolved", link


def test_readers_go_on_while_a_writer_holds_the_lock(tmp_path):
    """They need no lock, and a second writer waits with a bound and says for whom."""
    kb = Kb.ready(tmp_path / "r")
    holder = subprocess.Popen(
        command("ingest", "--force", "-q"), cwd=kb.top, env=process_environ(GIT_KB_TEST="1"), stderr=subprocess.DEVNULL
    )
    readers = [
        subprocess.Popen(command("search", "level", "ground"), cwd=kb.top, env=process_environ(), stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    found = {reader.communicate()[0] for reader in readers}
    assert holder.wait() == 0
    assert {reader.returncode for reader in readers} == {0}
    assert len(found) == 1


def test_what_changed_since_it_was_ingested_is_told(tmp_path):
    kb = Kb.ready(tmp_path / "r")
    kb.write("docs/guide.md", CORPUS["docs/guide.md"].replace("spring", "autumn"))
    states = {row["source"]: row["source_state"] for row in kb.json("search", "syrup OR swarm")["results"]}
    assert states == {"docs/guide.md": "changed", "notes.txt": "current"}
    os.rename(kb.path("notes.txt"), kb.path("moved.txt"))
    (row,) = kb.json("search", "skep")["results"]
    assert row["source_state"] == "gone"


LINES = {"chinese": "蜜蜂在春天采集花粉", "japanese": "ミツバチは春に花粉を集める", "korean": "꿀벌은 봄에 꽃가루를 모은다"}


@pytest.mark.parametrize("language", LINES)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_any_substring_of_a_line_without_blanks_finds_it(cjk, language, length):
    for word in LINES[language].split():
        for at in range(max(len(word) - length + 1, 1)):
            part = word[at : at + length]
            assert f"{language}.md" in sources(cjk, part), part


@pytest.fixture(scope="module")
def cjk(tmp_path_factory):
    files = {f"{language}.md": f"# Line\n\n{line}\n" for language, line in LINES.items()}
    files["glued.md"] = "# Glued\n\n使用X-gen-Y引擎的说明\n"
    return ready(tmp_path_factory.mktemp("cjk"), files)


@pytest.mark.parametrize("part", ["X-gen-Y", "gen", "X-gen-Y引擎", "引擎"])
def test_latin_between_han_is_found(cjk, part):
    assert sources(cjk, part) == ["glued.md"]


IDENTIFIERS = [
    "user_id",
    "userId",
    "UserID",
    "user-id",
    "HTTPServer2",
    "node.js",
    "C++",
    "std::vector",
    "snake_case_name",
    "@angular/core",
]


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_an_identifier_ranks_first_and_its_parts_find_it(identifiers, identifier):
    # What differs in case only is one word.
    same = {f"p{n}.md" for n, other in enumerate(IDENTIFIERS) if other.lower() == identifier.lower()}
    assert set(sources(identifiers, identifier)[: len(same)]) == same


@pytest.mark.parametrize(("part", "whole"), [("id", "user_id"), ("user", "user-id"), ("server", "HTTPServer2"), ("http", "HTTPServer2"), ("vector", "std::vector"), ("case", "snake_case_name"), ("angular", "@angular/core")])  # fmt: skip
def test_parts_of_an_identifier_find_it(identifiers, part, whole):
    assert f"p{IDENTIFIERS.index(whole)}.md" in sources(identifiers, part)


@pytest.fixture(scope="module")
def identifiers(tmp_path_factory):
    files = {f"p{n}.md": f"# Page {n}\n\nHere we speak of {name} and nothing else.\n" for n, name in enumerate(IDENTIFIERS)}
    return ready(tmp_path_factory.mktemp("identifiers"), files)


STOP_TITLES = ["If", "How to", "The Who", "Not", "Is", "For"]


@pytest.mark.parametrize("title", STOP_TITLES)
def test_a_page_named_by_function_words_is_found(stopped, title):
    assert f"{title}.md" in sources(stopped, title)[:3]


def test_a_quotation_of_function_words_is_found(stopped):
    assert sources(stopped, "to be or not to be")[0] == "hamlet.md"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    files = {f"{title}.md": f"# {title}\n\nA page about something.\n" for title in STOP_TITLES}
    files["hamlet.md"] = "# Hamlet\n\nTo be, or not to be: that is the question.\n"
    files |= {
        f"other{n}.md": f"# Other {n}\n\nIf it is not for the one who is to be how it was, then so be it.\n" for n in range(8)
    }
    return ready(tmp_path_factory.mktemp("stopped"), files)


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_lines_count_from_the_first_of_the_file(tmp_path, eol):
    head = ["---", "title: Long", *[f"key{n}: value" for n in range(6)], "---", ""]
    body = ["# Long", "", "\t\tA tab. 🐝🐝", "word " * 1000 + "narwhal", "", "## Next", "", "A walrus."]
    kb = ready(tmp_path, {"long.md": eol.join([*head, *body]) + eol})
    lines = eol.join([*head, *body]).split(eol)
    for word, heading in (("narwhal", "# Long"), ("walrus", "## Next")):
        (row,) = kb.json("search", word)["results"]
        assert row["line"] == lines.index(heading) + 1
        assert word in row["snippet"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process what it had at most")
@pytest.mark.parametrize("size", [24_000, 1_000_000, 10_000_000])
def test_one_endless_line_takes_little_memory(tmp_path, size):
    kb = Kb.create(tmp_path / "r", {"line.md": "# Line\n\nA narwhal. " + "QUJD" * (size // 4) + "\n"})
    kb.ok("init", "-q")
    # What the process itself had at most; ru_maxrss counts what the parent had before it was another program.
    measured = (
        "import sys; from git_kb.cli.main import main; code = main(['ingest', '-j1']); "
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", measured],
        cwd=kb.top,
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split()[-1]) < 100_000 + 30 * size // 1000
    assert sources(kb, "narwhal") == ["line.md"]


FRONT_MATTER = {
    "colon": "title: Re: the narwhal\n",
    "hash": "title: narwhal # not a comment\n",
    "at": "title: narwhal\nauthor: @someone\n",
    "backtick": "title: narwhal\ncommand: `ls`\n",
    "tab": "title: narwhal\n\tkey: value\n",
    "date": "title: narwhal\ndate: 2024-13-45\n",
    "boolean": "title: narwhal\ndraft: NO\n",
    "twice": "title: narwhal\ntag: a\ntag: b\n",
}


@pytest.mark.parametrize("kind", FRONT_MATTER)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_front_matter_that_a_parser_would_refuse(tmp_path, kind, eol, bom):
    text = (bom + f"---\n{FRONT_MATTER[kind]}---\n\n# Heading\n\nThe body stays.\n").replace("\n", eol)
    kb = ready(tmp_path, {"page.md": text})
    assert kb.read("page.md").decode() == text
    assert sources(kb, "body stays") == ["page.md"]
    assert "narwhal" in json.loads(kb.ok("ls-documents", "--json"))["title"]


def kbids(kb, *at):
    """Return the kbids of all sections."""
    return {json.loads(line)["kbid"] for line in kb.ok("ls-sections", "--json", *at).splitlines()}


def clone(kind, origin, top):
    options = {
        "full": [],
        "shallow": ["--depth=1"],
        "partial": ["--filter=blob:none"],
        "single branch": ["--single-branch"],
        "mirror": ["--mirror"],
    }[kind]
    git("clone", "-q", *options, f"file://{origin.top}", str(top), cwd="/")
    return Kb(top)


@pytest.mark.parametrize("kind", ["full", "shallow", "partial", "single branch", "mirror"])
def test_every_section_opens_in_every_kind_of_clone(tmp_path, kind):
    origin = Kb.ready(tmp_path / "origin")
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.git("gc", "-q", "--prune=now")
    wanted = kbids(origin)
    there = clone(kind, origin, tmp_path / "clone")
    there.git("gc", "-q", "--prune=now")
    at = ["--at", "HEAD"] if kind == "mirror" else []
    assert kbids(there, *at) == wanted
    there.ok("search", *at, "level")
    for kbid in wanted:
        assert there.ok("show", *at, kbid) == origin.ok("show", kbid)


def test_a_bundle_has_all(tmp_path):
    origin = Kb.ready(tmp_path / "origin")
    origin.git("bundle", "create", "-q", str(tmp_path / "all.bundle"), "--all")
    git("clone", "-q", str(tmp_path / "all.bundle"), str(tmp_path / "clone"), cwd="/")
    there = Kb(tmp_path / "clone")
    assert there.hits("level ground") == origin.hits("level ground")


def test_edits_of_one_section_share_what_they_can(tmp_path):
    """A hundred versions of one section grow the repository by a small multiple of one."""
    kb = ready(tmp_path, {"page.md": "# Page\n\n" + "A sentence that stays as it is. " * 200 + "\n"})
    for n in range(100):
        kb.write("page.md", "# Page\n\n" + "A sentence that stays as it is. " * 200 + f"Edit {n}.\n")
        kb.ok("ingest", "-q")
    kb.git("gc", "-q", "--prune=now")
    size = sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(kb.path(".git/objects")) for name in names)
    assert size < 400_000


def test_a_process_dies_of_no_output_encoding(tmp_path):
    kb = ready(tmp_path, {"bee.md": "# 🐝 蜜蜂\n\nThe bee 🐝.\n"})
    done = process(kb.top, "search", "bee", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.code == 0
    assert "Traceback" not in done.err
