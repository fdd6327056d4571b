"""Words are found by how they begin, though their stems are shorter."""

import pytest

from git_kb.text.beginnings import stems_of_longer
from git_kb.text.stems import stem

WORDS = [
    "category",
    "categories",
    "pagination",
    "paginate",
    "paginator",
    "deployment",
    "deployments",
    "taxonomies",
    "taxonomy",
    "happy",
    "happiness",
    "configuration",
    "configurable",
    "installing",
    "installed",
    "relational",
    "organization",
    "organizing",
    "creative",
    "creativity",
    "operational",
    "operator",
    "running",
    "runner",
    "studies",
    "agreement",
    "agreed",
    "helpful",
    "hopefully",
    "nationality",
    "conditional",
    "digitizer",
    "radically",
    "predication",
    "operates",
    "feudalism",
    "decisiveness",
    "hopefulness",
    "callousness",
    "formality",
    "sensitivity",
    "sensibility",
    "triplicate",
    "formative",
    "formalize",
    "electrical",
    "electricity",
    "revival",
    "allowance",
    "inference",
    "airliner",
    "gyroscopic",
    "adjustable",
    "defensible",
    "irritant",
    "replacement",
    "adoption",
    "communism",
    "activate",
    "angularity",
    "homologous",
    "effective",
    "controlling",
    "rolled",
    "probably",
    "rating",
    "cease",
    "dying",
    "lying",
    "early",
    "only",
    "news",
    "skies",
    "validations",
]


@pytest.mark.parametrize("word", WORDS)
def test_every_beginning_leads_to_the_stem(word):
    term = stem(word)
    for length in range(3, len(word) + 1):
        beginning = word[:length]
        assert term.startswith(beginning) or term in stems_of_longer(beginning), beginning


@pytest.mark.parametrize("word", ["the", "on", "index", "data", "xyzz", "configur"])
def test_nothing_is_made_up(word):
    assert stems_of_longer(word) == []


def test_only_stems_of_words_that_begin_so():
    assert stems_of_longer("cats") == ["cat"]
    assert stems_of_longer("category") == ["categori"]
