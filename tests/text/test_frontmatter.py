"""Front matter: what counts, where it ends, what it says."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_kb.text.frontmatter import RefusedYaml, _load_simple_yaml, _load_yaml, read_front_matter


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ("---\ntitle: x\n---\n", "yaml"),
        ("---\ntitle: x\n...\n", "yaml"),
        ("---\r\ntitle: x\r\n---\r\n", "yaml"),
        ("---\rtitle: x\r---\r", "yaml"),
        ("\ufeff---\ntitle: x\n--- \t\n", "yaml"),
        ("---\n---\n", "yaml"),
        ("---\n# a comment alone\n---\n", "yaml"),
        ("---\nHello\n---\n", "yaml"),
        ("---\n- a\n- b\n---\n", "yaml"),
        ("---\ntitle: Foo: bar\ntags: [a\n---\n", "yaml"),
        ("---\ntitle: !!python/name:os.system\n---\n", "yaml"),
        ('+++\ntitle = "T"\n[p]\na = 1\n+++\n', "toml"),
        ("+++\ntitle = \n+++\n", "toml"),
        ('{\n  "title": "J"\n}\n', "json"),
    ],
)
def test_front_matter(block, kind):
    front = read_front_matter(block + "# Doc\n")
    assert front is not None
    assert (front.kind, front.end, front.type) == (kind, len(block), f"application/{kind}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# x\n",
        "\n---\ntitle: x\n---\n",
        "---\ntitle: never closed\n\n# Doc\n",
        "---\n\n# Starts with a rule\n\ntext\n\n---\n\nfoo\n",
        "---\n\n# a rule: then\n\nthis: that: no YAML\n\n---\n",
        "---\nSome prose.\n\nMore of it.\n\n---\n",
        "----\ntitle: x\n----\n",
        "--- # x\ntitle: x\n---\n",
        "---\n# Heading\nprose\n---\n",
        " ---\ntitle: x\n---\n",
        "---\ntitle: x\n ---\n",
        "+++\nno toml\n+++\n",
        "{{< shortcode >}}\n",
        '{"a": 1} text\n',
        "{}\n",
        "[1]\n",
    ],
)
def test_no_front_matter(text):
    assert read_front_matter(text) is None


def test_scalars_keep_their_spelling():
    front = read_front_matter(
        '---\ntitle: 2024-01-15\nid: 0123\ncountry: NO\nver: 1.10\nat: 12:34:56\nempty:\nlist: [2024-01-15, yes, ~, true, 1e3, "~"]\nno: &x {b: false}\n---\n'
    )
    assert front.title == "2024-01-15"
    assert dict(front.rest()) == {
        "id": "0123",
        "country": "NO",
        "ver": "1.10",
        "at": "12:34:56",
        "empty": "",
        "list": '["2024-01-15", "yes", null, true, "1e3", "~"]',
        "no": '{"b": false}',
    }


def test_toml_and_json_are_plain_data():
    front = read_front_matter('+++\ntitle = "T"\nver = 1.10\nat = 2024-01-15\nn = 3\n+++\n')
    assert dict(front.rest()) == {"ver": "1.10", "at": "2024-01-15", "n": "3"}
    front = read_front_matter('{"title": " a\\n b ", "tags": ["x", "#y"], "n": {"a": [1]}}\n')
    assert (front.title, front.tags, front.rest()) == ("a b", ("x", "y"), (("n", '{"a": [1]}'),))


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: [b, a, b]", ("a", "b")),
        ("tags: x, 'y z'", ("'y z'", "x")),
        ("tags:", ()),
        ("keywords: [k]\ntag: t", ("k", "t")),
        ("tags: {a: 1}", ()),
    ],
)
def test_tags(line, tags):
    assert read_front_matter(f"---\n{line}\n---\n").tags == tags


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (BOMB, "aliases repeat too much"),
        ("a: &a [*a]\n", "an alias inside what it names"),
        ("a: " + "[" * 500 + "]" * 500 + "\n", "nested too deeply"),
        ("a: !!python/object/apply:os.system [x]\n", "is not allowed"),
        ("a: !custom y\n", "is not allowed"),
        ("a: b\n? [c]\n: d\n", "a list stands for a key"),
    ],
)
def test_refused_yaml_is_front_matter_without_metadata(block, reason):
    front = read_front_matter(f"---\n{block}---\n")
    assert front.metadata == {}
    assert reason in front.warnings[0]


def test_a_repeated_key_is_a_warning():
    front = read_front_matter("---\ntitle: one\nx: y\ntitle: two\n---\n")
    assert front.title == "two"
    assert front.warnings == ("front matter has the key 'title' more than once (line 4); the last one counts",)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("block", "where", "what"),
    [
        ("---\na: b\ntitle: {{ replace x }}\n---\n", "line 3, key 'title'", "a mapping stands for a key"),
        ("---\na: b\ntags:\n  - x: y: z\n---\n", "line 4, key 'tags'", "not allowed here"),
        ("---\na: b\ntags: [x,\nc: d\n---\n", "line 3, key 'tags'", "flow sequence"),
        ("---\na: b\nt: 'x\nc: d\n---\n", "line 3, key 't'", "quoted scalar"),
        ("---\na: b\nno key\nc: d\n---\n", "line 3", "could not find expected ':'"),
        ("---\na: b\n\tc: d\n---\n", "line 3, key 'a'", "cannot start any token"),
        ("---\na: b\nc: d\x01\n---\n", "line 3, key 'c'", "special characters"),
        ("---\na: b\nc: !x d\n---\n", "line 3, key 'c'", "not allowed"),
        ('---\na: "x\u2028y"\nc: *d\n---\n', "line 3, key 'c'", "undefined alias 'd'"),
        ("+++\na = 1\nb = \n+++\n", "line 3, key 'b'", "invalid value"),
        ("+++\na = 1\nno key\n+++\n", "line 3", "expected '='"),
        ("+++\na = [1,\n+++\n", "line 2, key 'a'", "invalid value"),
    ],
)
def test_a_warning_says_where(block, where, what, end):
    (warning,) = read_front_matter(block.replace("\n", end)).warnings
    assert re.match(rf"front matter is (not read|read in part): {re.escape(where)}: ", warning)
    assert what in warning


GOOD = {"title": "The hive", "tags": ["bees", "may"], "weight": "3", "nested": {"a": "b"}}
GOOD_TEXT = ["title: The hive\n", "tags:\n  - bees\n  - may\n", "weight: 3\n", "nested:\n  a: b\n"]
# A line that is no YAML -> what it gives all the same.
BROKEN = {
    "subject: Re: hives\n": {"subject": "Re: hives"},
    "author: @someone\n": {"author": "@someone"},
    "command: `ls`\n": {"command": "`ls`"},
    "share: 50% of: all\n": {"share": "50% of: all"},
    "list: [x,\n": {},
    "quoted: 'x\n": {},
    "tab: x\n\ty: z\n": {"tab": "x"},
    "alias: *nobody\n": {},
    "many:\n  - a: b: c\n": {},
}


@given(
    st.permutations(GOOD_TEXT), st.sampled_from(list(BROKEN)), st.integers(0, len(GOOD_TEXT)), st.sampled_from(["\n", "\r\n", "\r"])
)
def test_one_broken_key_costs_no_other(good, broken, at, end):
    """What people write by hand, and other tools forgive."""
    block = "".join([*good[:at], broken, *good[at:]])
    front = read_front_matter(f"---\n{block}---\n".replace("\n", end))
    assert front.metadata == {**GOOD, **BROKEN[broken]}
    assert front.warnings[0].startswith("front matter is read in part: line ")


@given(st.text(alphabet="ab:-[]{}'\"#&*!|=,. \t\n\r\u2028\x01", max_size=40))
def test_any_block_can_be_warned_of(block):
    for text, n in ((f"---\nk: {block}\n---\n", 2), (f"+++\nk = {block}\n+++\n", 2)):
        front = read_front_matter(text)
        for warning in front.warnings if front else ():
            line = re.search(r"line (\d+)", warning)
            assert line is None or n <= int(line[1]) <= text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


PIECES = [
    "title", "a", "k.x", "-", ": ", ":", " ", "\n", "\n", '"', "'", "[", "]", "[]", ", ", "#", " #", "yes", "null", "~",
    "1.10", "<<", "é", "\u2028", "\x85", "&a", "*a", "!x", "|", "key: v\n", 't: [a, "b c"]\n', "k:\n", "- a\n", "  - b c\n",
    "  - 'q'\n", "\t", "\ufeff", "{", "%",
]  # fmt: skip


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_the_short_cut_gives_what_yaml_gives(block):
    simple = _load_simple_yaml(block)
    if simple is not None:
        assert _load_yaml(block) == (simple, ())


def test_the_short_cut_is_taken():
    block = "title: A b's: c\ndate: 2024-01-15\nn: null\ntags: [a, \"b, c\"]\nnone: []\nlist:\n  - x\n  - 'y: z'\n"
    assert _load_simple_yaml(block) is None  # ": " inside a plain scalar
    assert _load_simple_yaml(block.replace("s: c", "s:c#d")) == {
        "title": "A b's:c#d",
        "date": "2024-01-15",
        "n": None,
        "tags": ["a", "b, c"],
        "none": [],
        "list": ["x", "y: z"],
    }


@given(st.text(alphabet="-+{}\n\r: abc[]&*!\"'#\ufeff", max_size=40))
def test_any_text(text):
    front = read_front_matter(text)
    assert front is None or 0 < front.end <= len(text)
    try:
        _load_yaml(text)
    except (RefusedYaml, RecursionError):
        pass
    except Exception as e:
        assert type(e).__module__.startswith("yaml")  # noqa: PT017


# Each was read in a time that grew with a power of its length, or of 2.
ENDLESS = {
    "list": "tags: [" + "a , " * 5000 + "b: c]",
    "list and comment": "tags: [" + "a , " * 5000 + "#all]",
    "comment behind blanks": "title: a" + " " * 100_000 + "# c",
    "control behind blanks": "title: a" + " " * 100_000 + "\x07",
    "blanks in a list": "tags: [a" + " " * 100_000 + "#]",
    "blanks in an item": "tags:\n  - a" + " " * 100_000 + "# c",
    "blanks in no key": "x: @y\na" + " " * 100_000 + "b",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_no_block_takes_for_ever(kind):
    front = read_front_matter(f"---\n{ENDLESS[kind]}\n---\n")
    assert front.kind == "yaml"


def test_no_toml_takes_for_ever():
    front = read_front_matter("+++\nx = [\na" + " " * 100_000 + "b\n+++\n")
    assert front.warnings
