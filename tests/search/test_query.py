"""Any string is a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.search.query import FIELDS, MAX_DEMANDS, MAX_QUERY, Atom, Either, Group, atoms_of, parse_query, stop_words

NAMES = {number: name for name, number in FIELDS.items()}
SYNTAX = [
    '"',
    "“",
    "”",
    "-",
    "(",
    ")",
    " ",
    " OR ",
    "OR",
    "*",
    "~2",
    "~",
    "heading:",
    "body:",
    "code:",
    "tag:",
    "path:",
    "red",
    "wine",
    "日本",
]


def shown(node):
    """Return a node in the query language, normalised."""
    if isinstance(node, Atom):
        text = " ".join(node.terms)
        text = f"{text}*" if node.prefix else f"<{text}>" + (f"~{node.slop}" if node.slop else "")
        return text if node.field is None else f"{NAMES[node.field]}:{text}"
    if isinstance(node, Either):
        return "(" + " | ".join(map(shown, node.groups)) + ")"
    parts = [*(f"+{shown(n)}" for n in node.must), *map(shown, node.should), *(f"-{shown(n)}" for n in node.must_not)]
    return " ".join(parts)


@given(
    st.one_of(st.text(), st.text(alphabet='a"-* (“”\t日:~OR'), st.lists(st.sampled_from(SYNTAX)).map("".join)),
    st.sampled_from([[""], ["", "de"], ["de"], ["", "arab", "latn", "pt", "tr"]]),
)
def test_any_string_is_a_query(text, rules):
    query = parse_query(text, rules)
    assert all(n > 0 for n in query.weights.values())
    atoms = list(atoms_of(query.root))
    assert {t for a in atoms if not a.prefix for t in a.terms} == set(query.weights)
    assert {t for a in atoms if a.prefix for t in a.terms} == set(query.prefixes)
    assert all(a.terms for a in atoms)
    assert all(value is not None for _, value, _ in query.filters)
    assert isinstance(query.root, Group)
    shown(query.root)


@pytest.mark.parametrize(
    ("text", "rules", "readings", "alternatives"),
    [
        ("houses", [""], [("hous",)], []),
        ("houses", ["", "de"], [("hous",), ("hous",)], []),
        ("Häusern", ["", "de"], [("hausern",), ("haus",)], [("hausern", "haus")]),
        ('"neue Häusern"', ["", "de"], [("neue", "hausern"), ("neu", "haus")], [("neue", "neu"), ("hausern", "haus")]),
        ("-Häusern", ["", "de"], [], []),
        ("Häus*", ["", "de", "latn"], [("haus",), ("häus",)], []),
    ],
)
def test_a_word_is_read_in_each_language(text, rules, readings, alternatives):
    query = parse_query(text, rules)
    found = [reading for atom in atoms_of(query.root) for reading in atom.readings]
    assert found == list(dict.fromkeys(readings))
    assert query.alternatives == alternatives


@pytest.mark.parametrize(
    ("text", "rules", "left"),
    [
        ("was ist die Hauptstadt von Bayern", ["de"], ["hauptstadt", "bay"]),
        ("was ist die Hauptstadt von Bayern", ["", "de"], ["hauptstadt", "bayern", "bay"]),
        ("die casting", ["", "de"], ["die", "cast", "casting"]),
        ("what is the capital", ["", "de"], ["capit", "capital"]),
        ("ما هي عاصمة مصر", [""], ["عاصم", "ـعصم", "مصر", "ـمصر"]),
        ("qu'est-ce que l'eau ?", ["fr"], ["eau"]),
    ],
)
def test_function_words_are_those_of_the_language_asked_in(text, rules, left):
    found = [term for atom in atoms_of(parse_query(text, rules).root) for term in atom.terms]
    assert found == left
    assert not stop_words(text, rules).isdisjoint(text.casefold().split()) or text == "die casting"


@given(st.integers(0, 300))
def test_depth_is_bounded(depth):
    query = parse_query("(" * depth + "red OR wine" + ")" * depth)
    assert set(query.weights) == {"red", "wine"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red red wine", "<red> <red> <wine>"),
        ("How do I open the wine?", "<open> <wine>"),
        ("what is it", "+<what is it>"),
        ("to be or not to be", "+<to be or not to be>"),
        ("the", "<the>"),
        ("蜂", "<蜂>"),
        ("蜂*", "蜂*"),
        ('the "red wine"', "+<red wine>"),
        ("heading:the wine", "+heading:<the> <wine>"),
        ("to OR wine", "+(<to> | <wine>)"),
        (
            'one two three four five six seven eight nine "red wine"',
            "<one> <two> <three> <four> <five> <six> <seven> <eight> <nine> <red wine>",
        ),
        ('"red wine"', "+<red wine>"),
        ("“red wine”", "+<red wine>"),
        ('"red wine"~3 now', "+<red wine>~3 <now>"),
        ('"red"', "<red>"),
        ('"red', "<red>"),
        ("wine -red", "<wine> -<red>"),
        ('wine -"red one"', "<wine> -<red one>"),
        ("wine -(red OR white)", "<wine> -+(<red> | <white>)"),
        ("well-known", "<well> <known>"),
        ("wine -well-known", "<wine> -<well known>"),
        ("--dry-run", "<dri> <run>"),
        ("- red", "<red>"),
        ("Conf*", "conf*"),
        ("heading:conf*", "+heading:conf*"),
        ("*", ""),
        ("日本語", "<日> <日本> <本> <本語> <語>"),
        ("", ""),
        ("red OR wine glass", "+(<red> | <wine>) <glass>"),
        ("red OR wine OR beer", "+(<red> | <wine> | <beer>)"),
        ("(red wine)", "<red> <wine>"),
        ("(red OR wine) glass", "+(<red> | <wine>) <glass>"),
        ('("red wine" old) OR beer', "+(+<red wine> <old> | <beer>)"),
        ("red OR -wine", "<red> -<wine>"),
        ("OR red", "<red>"),
        ("red OR", "<red>"),
        ("ORchid", "<orchid> <o> <rchid>"),
        ("red) wine", "<red> <wine>"),
        ("call f(x) now", "<call> <f> <x> <now>"),
        ("(call f(x) OR g)", "+(<f> <x> | <g>) <call>"),
        ("heading:red", "+heading:<red>"),
        ('code:"red wine" glass', "+code:<red wine> <glass>"),
        ("heading: red", "<head> <red>"),
        ("https://red.wine", "<https> <red> <wine>"),
        ("-heading:red wine", "<wine> -heading:<red>"),
    ],
)
def test_queries(text, expected):
    assert shown(parse_query(text).root) == expected


@pytest.mark.parametrize(
    ("text", "filters", "left"),
    [
        ("tag:red wine", [("tag", "red", False)], "<wine>"),
        ('path:"a b/c" wine', [("path", "a b/c", False)], "<wine>"),
        ("-type:text/x-python wine", [("type", "text/x-python", True)], "<wine>"),
        ("doc:guide--a.md", [("doc", "guide--a.md", False)], ""),
        ("(tier:S wine)", [("tier", "S", False)], "<wine>"),
        ("tag: wine", [], "<tag> <wine>"),
    ],
)
def test_filters(text, filters, left):
    query = parse_query(text)
    assert query.filters == filters
    assert shown(query.root) == left


@pytest.mark.parametrize("text", ['"red', "(red", "red )", "red OR", "(" * 50 + "red"])
def test_a_slip_is_told(text):
    query = parse_query(text)
    assert query.weights == {"red": 1}
    assert query.warnings


LITERALS = [
    ("C++", ["C++"]),
    ("C#?", ["C#"]),
    ("(C++)", ["C++"]),
    (".env", [".env"]),
    ("#1234", ["#1234"]),
    ("->", ["->"]),
    ('"->"', ["->"]),
    ("==", ["=="]),
    ("$HOME", ["$HOME"]),
    ("--dry-run", ["--dry-run"]),
    ("@decorator", ["@decorator"]),
    ("foo()", ["foo("]),
    ("std::vector.", ["std::vector"]),
    ('"git commit --amend"', ["git commit --amend"]),
    ("🚀 launch", ["🚀"]),
    ("&", ["&"]),
    ("rock & roll", []),
    ("well-known don't key: `word` a_b 日本。 “red wine”", []),
    ("नमस्ते", []),
    ("-C++ tag:c++", []),
]


@pytest.mark.parametrize(("text", "literals"), LITERALS, ids=[text for text, _ in LITERALS])
def test_words_with_symbols_are_noted_as_written(text, literals):
    assert list(parse_query(text).literals) == literals


@given(
    st.sampled_from(["heading:", "body:", "code:", "-heading:", "-"]),
    st.text(alphabet="+-><=#&🚀❤️.,;!?()[]{}'`*_ é", max_size=8),
    st.sampled_from(["{}", '"{}"', "“{}”", '"{}"~2', "({})"]),
    st.sampled_from(["", "wine ", "tag:x ", "a OR "]),
)
def test_what_behind_a_field_asks_for_nothing_is_told(field, text, form, before):
    """Whatever stands there, something is asked for or excluded, or a warning says that nothing is."""
    query = parse_query(before + field + form.format(text))
    plain = parse_query(before)
    asks = [(q.weights, q.prefixes, q.literals, q.filters, len(q.root.must_not) + len(q.written)) for q in (query, plain)]
    if asks[0] == asks[1] and form.format(text).strip("()"):
        assert query.warnings


@pytest.mark.parametrize("field", ["heading", "body", "code"])
@pytest.mark.parametrize(
    ("written", "literals", "says"),
    [
        ("🚀", ["🚀"], "behind a field '🚀' has no letter or digit to look for: it is looked for in the text of all sections"),
        ('"->"', ["->"], "behind a field '->' has no letter or digit to look for: it is looked for in the text of all sections"),
        ("&", ["&"], "behind a field '&' has no letter or digit to look for: it is looked for in the text of all sections"),
        ('""', [], "behind a field '' has no letter or digit to look for: it is passed over"),
        ("。", [], "behind a field '。' has no letter or digit to look for: it is passed over"),
        ('"C++ here"~2', [], "behind a field the symbols of 'C++ here' do not count, only its letters and digits"),
    ],
)
@pytest.mark.parametrize("beside", ["", " wine"])
def test_symbols_behind_a_field_are_told(field, written, literals, says, beside):
    query = parse_query(f"{field}:{written}{beside}")
    assert list(query.literals) == literals
    assert query.warnings == [says]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-C++", [("C++", None, True)]),
        ("-.env -#12 -$HOME -@name", [(".env", None, True), ("#12", None, True), ("$HOME", None, True), ("@name", None, True)]),
        ("-🚀 -→", [("🚀", None, True), ("→", None, True)]),
        ('heading:C++ code:-> -body:"foo() bar"', [("C++", 0, False), ("->", 2, False), ("foo() bar", 1, True)]),
        ("(heading:C++) wine", [("C++", 0, False)]),
        ("(wine -C++) beer", [("C++", None, True)]),
        ("wine OR beer -C++", [("C++", None, True)]),
        ("C++ .env heading:wine -wine --dry-run -> -= -. a-.b", []),
        ("wine OR -C++", []),
        (" ".join(f"-{n}+" for n in range(9)), [(f"{n}+", None, True) for n in range(8)]),
    ],
)
def test_what_has_to_stand_as_it_is_written(text, written):
    query = parse_query(text)
    assert sorted((w.literal, w.field, w.negative) for w in query.written) == sorted(written, key=lambda w: w[0])
    assert all(w.negative for w in query.loosened().written)


def test_what_is_demanded_as_written_ranks_by_its_words_and_excludes_by_its_text():
    query = parse_query("heading:fooBar() -C++ wine")
    assert list(query.weights) == ["wine", "foobar", "foo", "bar"]
    assert (query.root.must, query.root.must_not, query.excluded) == ([], [], ["c"])


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("-C++ heading:C++ wine", []),
        ('-"->" wine', ["in an exclusion '->' has no letter or digit to look for: it is looked for in the text of all sections"]),
        (
            "-body:🚀 wine",
            ["in an exclusion '🚀' has no letter or digit to look for: it is looked for in the text of all sections"],
        ),
        ("-🚀 wine", ["in an exclusion '🚀' has no letter or digit to look for: it is looked for in the text of all sections"]),
        *(
            (form, [f"{where} the symbols of '{word}' do not count beside OR or in '-(…)', only its letters and digits"])
            for form, where, word in (
                ("wine OR heading:C++", "behind a field", "C++"),
                ("code:a->b OR wine", "behind a field", "a->b"),
                ("wine OR (beer -.env)", "in an exclusion", ".env"),
                ("wine -(heading:C++)", "behind a field", "C++"),
                ("-(beer -C++)", "in an exclusion", "C++"),
            )
        ),
        ("wine OR code:->", ["behind a field '->' has no letter or digit to look for: beside OR or in '-(…)' it demands nothing"]),
        ('-"red, white." wine', []),
        *((f"-{word} wine", []) for word in (".env", "#1234", "$HOME", "@decorator")),
        ("--dry-run -> -- -= a-.b -.", []),
        ('heading:"red, white; and blue?"', []),
        ("heading:don't -well-known", []),
        (
            "code:" + "x+" * 200,
            ["behind a field the symbols of '" + "x+" * 33 + "…" + "+x" * 16 + "+' do not count, only its letters and digits"],
        ),
    ],
)
def test_symbols_that_do_not_count_are_told(text, warnings):
    assert parse_query(text).warnings == warnings


LONG = ["“", '"a ', "a OR ", "-a ", "ab* ", "(", "x", '"', "-> ", "heading:a ", "蜂 ", "a:", "(-", 'path:"', "蜂", "\x00"]


@pytest.mark.parametrize("piece", LONG)
def test_a_long_query_is_read_in_time_that_grows_with_its_length(piece):
    """Were it quadratic, this would take hours."""
    query = parse_query(piece * (MAX_QUERY // len(piece) + 1))
    assert len(query.root.must) + len(query.root.must_not) <= MAX_DEMANDS
    assert len(query.prefixes) <= MAX_DEMANDS
    assert any("longer than" in why for why in query.warnings)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("I'm in Rome", ["rome"]),
        ("don\u2019t panic", ["panic"]),
        ("git's branches", ["git", "branch"]),
        ("what's new", ["new"]),
        ("vitamin t", ["vitamin", "t"]),
        ("I'm", ["i", "m"]),
    ],
)
def test_contractions_are_function_words(text, terms):
    assert list(parse_query(text).weights) == terms
