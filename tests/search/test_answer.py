"""Cited answers: sentences that stand word for word in sections."""

import re
import shlex

import pytest
from kb import Kb

from git_kb.output.answers import render_answer
from git_kb.search import answer as answer_module
from git_kb.search import explore, find
from git_kb.search.answer import answer, level
from git_kb.store.viewfile import current_view

TEXT = """\
# Hives

A hive stands on a stone. The entrance of a hive faces south! Does rain matter? It does.

```python
hive = "not a sentence about the hive."
```

> A quoted hive.

| hive | table |
|------|-------|
| hive | cell. |

* A hive has frames.
* Frames hold comb. Comb is wax.

    indented hive code.

<div>hive in html.</div>
"""


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(
        tmp_path / "repo",
        {
            "hives.md": TEXT,
            "feed.md": "# Feeding\n\n## In spring\n\nFeed syrup in spring. It is sweet.\n\n## In autumn\n\nFeed fondant in autumn.\n",
        },
    )


def ask(kb, question):
    opened = current_view(kb.place())
    assert opened is not None
    return answer(kb.place(), *opened, question)


def test_an_answer_rests_on_its_sections(kb):
    result = ask(kb, "What do I feed in spring?")
    assert result.sentences[0].text == "Feed syrup in spring."
    assert {s.citation for s in result.sentences} == {s.citation for s in result.sources}
    for s in result.sentences:
        shown = kb.json("show", s.citation)
        assert shown["content"][s.start : s.end] == s.text
        assert s.text in kb.read(s.source).decode().split("\n", s.line - 1)[-1]
    assert result.gaps == ()
    assert 0 < result.confidence_score < 1
    assert result.confidence == level(result.confidence_score)


def test_what_nothing_covers_is_a_gap(kb):
    result = ask(kb, "Which xylophone do I feed in spring?")
    assert [g.word for g in result.gaps] == ["xylophone"]
    full = ask(kb, "What do I feed in spring?")
    assert result.confidence_score < full.confidence_score


@pytest.mark.parametrize("question", ["", "?", "xylophone", "what is it", "\x00", "*"])
def test_no_answer_says_so(kb, question):
    result = ask(kb, question)
    if not result.sentences:
        assert (result.sources, result.confidence) == ((), "none")
    done = kb.run("query", question)
    assert done.code == (0 if result.sentences else 1)
    assert done.out.startswith("## Answer: ")
    for title in ("### Sources", "### Confidence", "### Gaps", "### Explore Next"):
        assert title in done.out


def test_the_same_question_gives_the_same_answer(kb):
    assert ask(kb, "hive entrance") == ask(kb, "hive entrance")


def test_a_word_that_is_only_in_the_rest_of_a_section_is_a_gap(tmp_path):
    """Covered is what the reader sees, not what the ranking saw."""
    lines = "".join(f"In year {n} feed syrup in spring.\n\n" for n in range(6))
    kb = Kb.ready(tmp_path / "repo", {"a.md": f"# Bees\n\n## Feeding\n\n{lines}A smoker calms.\n"})
    result = ask(kb, "feed syrup in spring with a smoker to bees")
    assert all("smoker" not in s.text for s in result.sentences)
    (gap,) = result.gaps  # bees are in the title
    assert (gap.word, gap.n_sections, gap.at_least) == ("smoker", 1, False)
    assert gap.best == result.sources[0].citation
    assert result.reason.endswith("4 of 5 words of the question")


def test_a_gap_says_what_was_looked_for_and_where_it_is(kb):
    result = ask(kb, "Which xylophones and frames do I feed in autumn?")
    gaps = {g.word: g for g in result.gaps}
    assert gaps["xylophones"].looked_for == gaps["xylophones"].not_found == ("xylophon",)
    assert (gaps["xylophones"].n_sections, gaps["xylophones"].best) == (0, "")
    text = render_answer(result)
    assert "- xylophones: looked for 'xylophon'; not found in any section of the knowledge base\n" in text
    if "frames" in gaps:
        assert gaps["frames"].n_sections == 1
        assert gaps["frames"].best.startswith("hives.md#")


def test_a_part_of_an_identifier_does_not_cover_it(tmp_path):
    kb = Kb.ready(tmp_path / "repo", {"a.md": "# Weights\n\nThe weigh_hive call takes a scale. The hive is heavy.\n"})
    assert ask(kb, "weigh_hive scale").gaps == ()
    (gap,) = ask(kb, "move_hive scale").gaps
    assert gap.word == "move_hive"
    assert "hive" in gap.looked_for
    assert "hive" not in gap.not_found


def test_a_prefix_is_covered_by_what_it_finds(kb):
    assert [g.word for g in ask(kb, "fee* syrup").gaps] == []


CODE_KB = {
    "serve.md": "---\ntitle: Serving\n---\n\n## Start\n\nStart the server of the project:\n\n```sh\nhugo server -D\n```\n\nStop it later.\n",
    "copy.md": "# Copy\n\n## Start\n\nStart the server of *the* project:\n\n```sh\nhugo server -D\n```\n",
    "long.md": "# Port\n\nThe port option is set in a file:\n\n```toml\n"
    + "".join(f"key{n} = {n}\n" for n in range(30))
    + "port = 1313\n```\n",
    "more.md": "# Server\n\n## Address of the server\n\nThe server has an address.\n\n## Log of the server\n\nThe server has a log.\n",
}


def test_code_is_quoted_word_for_word(tmp_path):
    kb = Kb.ready(tmp_path / "repo", CODE_KB)
    result = ask(kb, "How do I start the server of the project?")
    assert [b.text for b in result.code] == ["hugo server -D"]  # the copy says the same
    assert [s.text for s in result.sentences].count("Start the server of the project:") + [s.text for s in result.sentences].count(
        "Start the server of *the* project:"
    ) == 1
    for b in result.code:
        assert kb.json("show", b.citation)["content"][b.start : b.end] == b.text
        assert kb.read(b.source).decode().split("\n")[b.line - 1] == b.text
    out = kb.ok("query", "How do I start the server of the project?")
    assert "\n\n```sh\nhugo server -D\n```\n— " in out


def test_long_code_is_cut_to_the_lines_that_matter(tmp_path):
    kb = Kb.ready(tmp_path / "repo", CODE_KB)
    (block,) = ask(kb, "port option in a file").code
    assert block.text.count("\n") + 1 == 12
    assert "port = 1313" in block.text
    assert block.n_lines == 31
    assert kb.json("show", block.citation)["content"][block.start : block.end] == block.text
    assert ", 12 of 31 lines\n" in kb.ok("query", "port option in a file")


def suggested(kb, question, *options):
    """Return the command lines of Explore Next."""
    out = kb.run("query", *options, question).out
    return [shlex.split(c)[2:] for c in re.findall(r"^- `(git kb query .*)` — ", out, re.MULTILINE)]


@pytest.mark.parametrize("question", ["How do I start the server?", "server", "What is the port option of the frames?"])
def test_what_is_suggested_can_be_run_and_finds_something(tmp_path, question):
    kb = Kb.ready(
        tmp_path / "repo", {**CODE_KB, "hives.md": TEXT, "odd.md": '# Server\'s "log" of $HOME `x` -v!\n\nA server logs.\n'}
    )
    asked = suggested(kb, question)
    assert asked
    assert len({tuple(a) for a in asked}) == len(asked)
    for command in asked:
        assert command[0] == "query"
        assert command[1].lower() != question.lower()
        done = kb.run(*command)
        assert done.code == 0, (command, done)


def test_an_older_state_is_asked_again_as_it_was(tmp_path):
    kb = Kb.ready(tmp_path / "repo", CODE_KB)
    asked = suggested(kb, "How do I start the server?", "--at", "HEAD")
    assert asked
    for command in asked:
        assert command[:3] == ["query", "--at", "HEAD"]
        assert kb.run(*command).code == 0


def test_an_answer_reads_few_sections(tmp_path, monkeypatch):
    files = {f"n{n}.md": "".join(f"# Hive {n} frame {k}\n\nThe hive {n} has frame {k}.\n\n" for k in range(5)) for n in range(20)}
    kb = Kb.ready(tmp_path / "repo", files)
    read = []
    for module in (find, explore):
        real = module.read_contents
        monkeypatch.setattr(
            module, "read_contents", lambda place, kbids, *more, real=real: read.extend(kbids) or real(place, kbids, *more)
        )
    result = ask(kb, "Which frame has hive 7 and a queen?")
    assert result.explore
    assert 10 < len(read) <= 20
    assert answer_module.N_SECTIONS + explore.N_READ <= 20
