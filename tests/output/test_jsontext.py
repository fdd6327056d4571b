"""JSON that neither steers a terminal nor breaks a reader."""

import json

from hypothesis import given
from hypothesis import strategies as st

from git_kb.output.jsontext import json_text

TEXT = st.text(st.characters() | st.sampled_from("\x1b\x9b\x9d\u202e\u2066\u2028\ud800\udcff\ufeff\x7f"))


@given(st.recursive(TEXT | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20))
def test_it_reads_back_and_holds_no_control_character(data):
    for indent in (None, 1):
        text = json_text(data, indent)
        assert json.loads(text.encode()) == data
        assert not set(text) & set(map(chr, [*range(10), *range(11, 32), *range(127, 160), 0x202E, 0x2066, 0x2028, 0xFEFF]))
