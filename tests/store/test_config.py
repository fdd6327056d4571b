import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.search.score import Parameters
from git_kb.store.config import RANKING, BadConfig, Config, default_config_text, parse_config


def test_the_text_init_writes_reads_as_the_defaults():
    assert parse_config(default_config_text("x").encode()) == Config(name="x")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[", "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b"\xff", "is not JSON"),
        (b'{"version": 2}', "this git-kb knows 1"),
        (b'{"sources": []}', "sources is not an object"),
        (b'{"sources": {"include": "x"}}', "sources.include is not an array of strings"),
        (b'{"chunk": {"target": true}}', "chunk.target is not an integer"),
        (b'{"chunk": {"target": 5000, "ceiling": 4000}}', "chunk.ceiling is 4000"),
        (b'{"name": 3}', "name is not a string"),
        (b'{"language": "de"}', "language is not an object"),
        (b'{"language": {"default": "German"}}', "language.default is not a language code"),
        (b'{"language": {"detect": 1}}', "language.detect is neither true nor false"),
        (b'{"ranking": 3}', "ranking is not an object"),
        (b'{"ranking": {"b": 0.5}}', "ranking.b is not an object"),
        (b'{"ranking": {"b": {"code": 1.5}}}', "ranking.b.code is not a number from 0 to 1"),
        (b'{"ranking": {"k1": NaN}}', "ranking.k1 is not a number"),
        (b'{"ranking": {"zone": true}}', "ranking.zone is not a number"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_each_fault_is_named(data, message):
    with pytest.raises(BadConfig, match=message):
        parse_config(data)


def test_numbers_of_the_ranking():
    data = b'{"ranking": {"k1": 2, "weights": {"code": 0.5}, "later": 1}}'
    assert parse_config(data).ranking == {"k1": 2.0, "weights.code": 0.5}
    assert set(RANKING) == set(Parameters().values())


def test_unknown_keys_and_a_byte_order_mark_are_fine():
    assert parse_config(b'\xef\xbb\xbf{"watch": {"paths": ["~/x"]}}').unknown == ("watch",)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "version", "sources", "include", "chunk", "target", "language", "default", "detect"]),
            v,
            max_size=3,
        )
    ),
)


@given(json_values)
def test_any_json_is_a_configuration_or_bad(value):
    try:
        parse_config(json.dumps(value).encode())
    except BadConfig:
        pass
