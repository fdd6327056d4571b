"""Regular expressions that every supported Python reads alike.

Before 3.11.5, a possessive repeat or an atomic group around something that backtracks matches wrongly, or for ever
(https://github.com/python/cpython/issues/106052). Of a single character, it is sound.
"""

import importlib
import pkgutil
import re
import re._parser as parser

import pytest

import git_kb

SINGLE = {"LITERAL", "NOT_LITERAL", "ANY", "IN"}


def unsound(parsed):
    """Yield what stands in an expression that only a later Python gets right."""
    for op, argument in parsed:
        name = str(op)
        if name == "ATOMIC_GROUP":
            yield name
        elif name == "POSSESSIVE_REPEAT":
            body = argument[2]
            if len(body) != 1 or str(body[0][0]) not in SINGLE:
                yield f"{name} of {body}"
        for part in argument if isinstance(argument, (tuple, list)) else (argument,):
            for inner in part if isinstance(part, list) else (part,):
                if isinstance(inner, parser.SubPattern):
                    yield from unsound(inner)


def expressions():
    """Return (name, expression) of all that stand in modules, also those in dictionaries and lists."""
    found = {}
    for module in pkgutil.walk_packages(git_kb.__path__, "git_kb."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
            for one in values:
                one = getattr(one, "__self__", one)
                if isinstance(one, re.Pattern):
                    found[f"{module.name}.{name}"] = one
    return sorted(found.items())


def test_no_expression_needs_a_later_python():
    listed = expressions()
    assert len(listed) > 100
    for name, expression in listed:
        assert not list(unsound(parser.parse(expression.pattern, expression.flags & ~re.UNICODE))), name


@pytest.mark.parametrize("text", [r"(?:a|\\.)*+", r"(?>ab)", r"x(?:a(?:b+)?+c)", r"(?:a++b)++", r"(?=(?:a|b+)++)"])
def test_what_is_unsound_is_seen(text):
    assert list(unsound(parser.parse(text)))


@pytest.mark.parametrize("text", [r"[ab]*+c", r"a++|b", r".{0,10}+", r"(?:a|b)*", r"\d++"])
def test_what_is_sound_is_not(text):
    assert not list(unsound(parser.parse(text)))
