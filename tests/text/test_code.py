"""Code: a chunk for each definition."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_kb.text import code
from git_kb.text.code import LANGUAGES, GrammarMissing, cut_code
from git_kb.text.plain import Limits, is_blank

SOURCES = {
    "text/x-python": (
        '"""Doc."""\nimport os\nX = 1\n\n\n# about f\n@deco\ndef f():\n    def inner(): pass\n\nclass A:\n    """Doc."""\n    y = 1\n\n    # about g\n    def g(self): pass\n\n    async def h(self): pass\n\nZ = 2\n',
        [(), ("f",), ("A",), ("A", "g"), ("A", "h"), ()],
    ),
    "text/javascript": (
        "import x from 'y';\n/** Doc */\nexport function f() {}\nconst g = () => 1;\nconst n = 1;\nexport default class A {\n  #p = 1;\n  m() {}\n}\n",
        [(), ("f",), ("g",), (), ("A",), ("A", "m")],
    ),
    "text/x-typescript": (
        "export interface I { a: number }\ntype T = string;\nnamespace N { export function f(): void {} }\nabstract class B<out T> { constructor(private x = 1) {} }\n",
        [("I",), ("T",), ("N",), ("N", "f"), ("B",), ("B", "constructor")],
    ),
    "text/x-tsx": ("const App = () => <div># no</div>;\n", [("App",)]),
    "text/x-go": (
        "package main\n\n// Run does x.\nfunc (s *Srv[T]) Run() {}\n\ntype T struct{}\nfunc F() {}\n",
        [(), ("Srv", "Run"), ("T",), ("F",)],
    ),
    "text/x-rust": (
        "use x;\n/// Doc\n#[derive(Debug)]\nstruct S;\nimpl fmt::Display for S { fn fmt(&self) {}\n // a\n fn g() {} }\nmod m { fn h() {} }\nmod n;\n",
        [(), ("S",), ("fmt::Display for S",), ("fmt::Display for S", "fmt"), ("fmt::Display for S", "g"), ("m",), ("m", "h"), ()],
    ),
    "text/x-java": (
        "package p;\n/** Doc */\npublic class A {\n  int x;\n  A() {}\n  void m() {}\n  record P(int x) {}\n}\n",
        [(), ("A",), ("A", "A"), ("A", "m"), ("A", "P")],
    ),
    "text/x-c": (
        "#include <a.h>\n#ifdef X\nstatic int *f(int a) { return 0; }\n#endif\nstruct s { int a; };\ntypedef struct t { int b; } t;\nint g(void);\n",
        [(), ("f",), ("s",), ("t",), ()],
    ),
    "text/x-c++": (
        "namespace n {\ntemplate <class T> struct S { void m() {} };\nvoid S<int>::k() {}\n}\nenum class E { a };\n",
        [("n",), ("n", "S"), ("n", "S", "m"), ("n", "S<int>::k"), ("E",)],
    ),
    "text/x-csharp": (
        "using System;\nnamespace N {\n  class A {\n    int X { get; }\n    void M() {}\n  }\n}\n",
        [(), ("N",), ("N", "A"), ("N", "A", "X"), ("N", "A", "M")],
    ),
    "text/x-ruby": (
        "# about M\nmodule M\n  class C\n    def m?; end\n    def self.s; end\n  end\nend\n",
        [("M",), ("M", "C"), ("M", "C", "m?"), ("M", "C", "s")],
    ),
    "text/x-shellscript": ("#!/bin/sh\n\nf() { :; }\n# about g\nfunction g { :; }\nf\n", [(), ("f",), ("g",), ()]),
    "text/x-php": (
        "<?php\nnamespace A\\B;\nfunction f() {}\nclass C {\n  function m() {}\n}\n?>\n<b>\n",
        [(), ("f",), ("C",), ("C", "m"), ()],
    ),
}


def headings(text, type, limits=Limits(10, 2000)):  # noqa: B008
    pieces = cut_code(text, type, limits).pieces
    assert "".join(text[p.start : p.end] for p in pieces) == text
    return [p.heading for p in pieces if p.part == 1]


def test_there_is_a_sample_of_each_language():
    assert set(SOURCES) == set(LANGUAGES)


@pytest.mark.parametrize("type", SOURCES)
def test_definitions(type):
    text, want = SOURCES[type]
    got = headings(text, type)
    assert [h for i, h in enumerate(got) if not i or h != got[i - 1]] == want


def test_a_small_class_stays_whole_with_what_stands_before_it():
    text = SOURCES["text/x-python"][0]
    pieces = cut_code(text, "text/x-python", Limits()).pieces
    assert [p.heading for p in pieces] == [(), ("f",), ("A",), ()]
    assert text[pieces[1].start :].startswith("# about f\n@deco\n")


def test_a_comment_belongs_to_the_statement_on_its_line_or_to_what_adjoins_it():
    text = "x = 1  # about x\ndef f(): pass\n\n# alone\n\ndef g(): pass\n"
    pieces = cut_code(text, "text/x-python", Limits(10, 2000)).pieces
    assert [text[p.start : p.end].strip() for p in pieces if p.heading] == ["def f(): pass\n\n# alone", "def g(): pass"]


def test_a_long_function_is_cut_at_line_ends():
    text = "def f():\n" + "    x = 1\n" * 100
    pieces = cut_code(text, "text/x-python", Limits(100, 200)).pieces
    assert all(p.heading == ("f",) and text[p.start : p.end].endswith("\n") for p in pieces)
    assert [p.part for p in pieces] == list(range(1, len(pieces) + 1))


def test_minified_code_is_bounded():
    text = "!function(e,t){" + "e.push(t);" * 20_000 + "}();"
    assert all(p.end - p.start <= 8000 for p in cut_code(text, "text/javascript", Limits()).pieces)


def test_what_does_not_parse_is_kept():
    assert ("g",) in headings("def f(:\n  )))\n\ndef g():\n    pass\n", "text/x-python")


def test_chunker_names_grammar_and_version():
    assert cut_code("x", "text/x-python", Limits()).chunker.startswith("tree-sitter-python 0.")


def test_text_that_is_no_utf8():
    text = "# é 😀 \udcff\ndef f():\n    '\udce9'\n\n# ü\ndef g(): pass\n"
    pieces = cut_code(text, "text/x-python", Limits(10, 2000)).pieces
    assert [text[p.start : p.end] for p in pieces if p.heading] == [
        "# é 😀 \udcff\ndef f():\n    '\udce9'\n\n",
        "# ü\ndef g(): pass\n",
    ]


def test_a_missing_grammar_is_an_error(no_grammars):
    with pytest.raises(GrammarMissing) as e:
        cut_code("x", "text/x-python", Limits())
    assert e.value.hint == "pip install 'git-kb[code]'"


LINES = ["def f():\n", "class A:\n", "  x = 1\n", "  def m(self): pass\n", "}\n", "function f() {\n", "class B {\n", "# c\n", "// c\n", "/* \n", "\n", "  \n", "é'\n", "\r\n", "\0", '"""\n', "@d\n", "\udcff", "#ifdef X\n"]  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.sampled_from(LINES), max_size=20).map("".join), st.sampled_from(sorted(LANGUAGES)), st.integers(8, 60))
def test_pieces_tile(text, type, target):
    pieces = cut_code(text, type, Limits(target, 2 * target)).pieces
    assert "".join(text[p.start : p.end] for p in pieces) == text
    if not is_blank(text, 0, len(text)):
        assert not any(is_blank(text, p.start, p.end) for p in pieces)


def test_the_start_of_a_line_is_found_without_a_look_at_all_of_it():
    """A minified file is one line: looking back to its start for each statement took minutes."""
    source = code._Source("x\n \t" + "var a=1; " * 250_000)
    begin = time.process_time()
    assert [source.line_start(at) for at in (0, 1, 2, 4, 5, 13)] == [0, 1, 2, 2, 5, 13]
    assert all(source.line_start(at) == at for at in range(13, len(source.data), 99))
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("type", sorted(LANGUAGES))
def test_what_keeps_the_parser_busy_is_cut_at_lines(type):
    """Each `<!--` begins error recovery anew; 60 KB would take minutes."""
    text = "<!--" * 15_000 + "\nint x;\n"
    cut = cut_code(text, type, Limits(1000, 2000))
    assert "".join(text[p.start : p.end] for p in cut.pieces) == text
