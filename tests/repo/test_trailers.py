import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_kb.repo.trailers import BadTrailer, add_trailers, read_trailers

from .gitrepo import git

keys = st.text("abcXYZ019-", min_size=1, max_size=8)
values = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp", "Cs"]), min_size=1, max_size=20)
lines = st.sampled_from(
    ["", "subject", "Key: value", "Other-Key:value", "  folded", "\tfolded", "Not a trailer: x", "Signed-off-by: A <a@b>",
     "(cherry picked from commit 1234)", "text", "Key : spaced", "http://x", "Empty:"]
)  # fmt: skip


def by_git(message):
    """Return what git reads as trailers, one "key: value" each."""
    out = git("interpret-trailers", "--parse", "--unfold", "--no-divider", cwd="/", input=message.encode()).decode()
    return [row for row in out.split("\n") if row and not row.startswith("(")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(lines, max_size=9))
def test_reading_agrees_with_git(rows):
    message = "\n".join(["subject", "", *rows]) + "\n"
    assert [f"{key}: {value}".strip() for key, value in read_trailers(message)] == [row.strip() for row in by_git(message)]


@given(st.text(max_size=80), st.lists(st.tuples(keys, values), min_size=1, max_size=4))
def test_what_is_added_is_read_back(text, trailers):
    message = add_trailers("subject\n\n" + text, trailers)
    assert read_trailers(message)[-len(trailers) :] == trailers
    assert message.endswith("\n")


def test_added_trailers_are_gits_too():
    message = add_trailers("kb: ingest docs\n\nbody\n", [("Kb-Section", "docs--a.md#c-12345678"), ("Kb-Section", "b\nc")])
    assert message == "kb: ingest docs\n\nbody\n\nKb-Section: docs--a.md#c-12345678\nKb-Section: b c\n"
    message = add_trailers(message, [("Reviewed-by", "A <a@example.com>")])
    assert message.endswith("\n\nKb-Section: docs--a.md#c-12345678\nKb-Section: b c\nReviewed-by: A <a@example.com>\n")
    assert by_git(message) == ["Kb-Section: docs--a.md#c-12345678", "Kb-Section: b c", "Reviewed-by: A <a@example.com>"]


def test_one_kind_in_any_case():
    message = "s\n\nKb-Section: a\nOther: b\nkb-section: c\n d\n"
    assert read_trailers(message, "KB-Section") == [("Kb-Section", "a"), ("kb-section", "c d")]


def test_the_subject_is_no_trailer():
    assert read_trailers("Key: value") == read_trailers("") == []
    assert read_trailers(add_trailers("Key: value", [("A", "b")])) == [("A", "b")]


@pytest.mark.parametrize(("key", "value"), [("", "x"), ("a b", "x"), ("a:", "x"), ("é", "x"), ("a", ""), ("a", " \n")])
def test_bad_trailers(key, value):
    with pytest.raises(BadTrailer):
        add_trailers("s", [(key, value)])


def test_none_to_add():
    assert add_trailers("s", []) == "s"
