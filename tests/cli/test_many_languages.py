"""Documents in many languages: each is found by other forms of its words, in one knowledge base with all others."""

import json

import pytest
from kb import GUIDE, Kb

from git_kb.store.manifest import parse_manifest

DE = """\
# Der Bienenstock

Der Bienenstock steht auf ebenem Boden, und das Flugloch zeigt nach Süden. Die Häuser der Bienen sind trocken.

## Fütterung

Im Frühling werden die Völker mit Zuckerlösung gefüttert. Honig aus anderen Völkern ist nicht gut für sie.
"""
TR = """\
# Arı kovanı

Kovan düz bir zeminde durur ve girişi güneye bakar. Arıların evleri kuru olmalı, çünkü nem onlar için iyi değildir.
IŞIK ve ısı da gerekir. İstanbul'da ilkbahar için daha çok şurup verilir.
"""
AR = """\
# خلية النحل

تقف الخلية على أرض مستوية ويتجه مدخلها نحو الجنوب. كتب النحالون كثيرا من الكتب عن إطعام النحل في الربيع.
"""
TH = """\
# รังผึ้ง

รังผึ้งตั้งอยู่บนพื้นราบ และทางเข้าหันไปทางทิศใต้ ผึ้งดื่มน้ำทุกวัน
"""
HI = """\
# मधुमक्खी का छत्ता

छत्ता समतल ज़मीन पर खड़ा है और उसका द्वार दक्षिण की ओर है। लड़कों ने वसंत में मधुमक्खियों को चीनी का घोल दिया।
"""
RU = "# Улей\n\nУлей стоит на ровной земле, а вход обращён на юг. Пчёл весной кормят сиропом, и мёд из других семей не годится.\n"
FR = "# La ruche\n\nLa ruche est sur un terrain plat et son entrée est tournée vers le sud. Les abeilles sont nourries au printemps.\n"
ZH = "# 蜂箱\n\n蜂箱放在平地上，入口朝南。春天给蜂群喂糖浆。\n"
FILES = {
    "docs/guide.md": GUIDE, "docs/de.md": DE, "docs/tr.md": TR, "docs/ar.md": AR, "docs/th.md": TH, "docs/hi.md": HI, "docs/ru.md": RU,
    "docs/fr.md": FR, "docs/zh.md": ZH,
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return Kb.ready(tmp_path_factory.mktemp("languages") / "repo", FILES)


def sources(kb, *query):
    """Return the sources of the hits, best first."""
    done = kb.run("search", "--json", *query)
    return [hit["source"] for hit in json.loads(done.out)["results"]]


def test_each_document_has_its_language(model):
    rows = [json.loads(line) for line in model.ok("ls-documents", "--json").splitlines()]
    assert {r["source"][5:-3]: r["language"] for r in rows} == {
        "guide": "en", "de": "de", "tr": "tr", "ar": "ar", "th": "th", "hi": "hi", "ru": "ru", "fr": "fr", "zh": "zh",
    }  # fmt: skip
    assert b"language" not in model.read("kb/documents/docs--guide.md.toml")


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("haus biene", "de"),
        ("Zuckerloesung", "de"),
        ('"anderem Volk"', "de"),
        ("Frühlings*", "de"),
        ("Frühl*", "de"),
        ("heading:Bienenstöcke", "de"),
        ("zeminler zeminde evde", "tr"),
        ("ışık", "tr"),
        ("istanbul", "tr"),
        ("evler", "tr"),
        ("الكتاب", "ar"),
        ("إِطعام", "ar"),
        ("خلايا النحل", "ar"),
        ("ผึ้ง", "th"),
        ("น้ำ", "th"),
        ('"ดื่มน้ำ"', "th"),
        ("लड़के", "hi"),
        ("पौधा OR छत्ते", "hi"),
        ("пчела", "ru"),
        ("семья", "ru"),
        ("мед", "ru"),
        ("abeille", "fr"),
        ("entree", "fr"),
        ("糖浆", "zh"),
        ("浆", "zh"),
        ('"喂糖浆"', "zh"),
        ("feeding syrups", "guide"),
    ],
)
def test_words_are_found_by_their_other_forms(model, query, source):
    found = sources(model, query)
    assert found[:1] == ([f"docs/{source}.md"] if source else []), found


def test_the_quick_way_and_the_long_way_agree(model):
    for query in ("Häuser", "الكتاب", "น้ำ", '"anderem Volk"', "level"):
        assert model.ok("search", query) == model.ok("search", "-q", query)


def test_a_hit_shows_the_words_found(model):
    """With and without marks, and behind an article."""
    for query, word in (("haus", "Häuser"), ("lösung süden", "Süden"), ("entree", "entrée"), ("كتاب", "الكتب")):
        text = json.loads(model.run("search", "--json", query).out)["results"][0]["snippet"]
        assert word in text


def test_questions_are_answered_in_their_language(model):
    done = model.run("query", "--json", "Womit werden die Völker im Frühling gefüttert?")
    said = json.loads(done.out)
    assert any("Zuckerlösung" in s["text"] for s in said["sentences"]), said


def test_a_clone_with_other_settings_makes_the_same_segments(model, tmp_path):
    """What a manifest says of languages is all that counts."""
    model.ok("index", "--rebuild")
    model.git("clone", "-q", model.top, str(tmp_path / "clone"))
    clone = Kb(tmp_path / "clone")
    clone.git("fetch", "-q", "origin", "refs/kb/sections:refs/kb/sections")
    clone.write("kb.config.json", '{"language": {"default": "tr", "detect": false}}')
    clone.ok("index", "--rebuild")
    assert clone.segments() == model.segments()


def test_the_same_section_in_two_languages(tmp_path):
    """One section, two entries: each is found by its own language's rules."""
    shared = "# Fragen\n\nBücher\n"
    kb = Kb.ready(tmp_path / "repo", {"a.md": shared, "b.md": f"---\nlang: de\n---\n{shared}"})
    assert sources(kb, "Buch") == ["b.md"]
    assert sorted(sources(kb, "Bücher")) == ["a.md", "b.md"]
    kb.check()


def test_front_matter_says_the_language_and_the_configuration_what_is_unclear(tmp_path):
    files = {
        "short.md": "# Kurz\n\nBücher.\n",
        "said.md": f"---\nlanguage: fr-CA\n---\n{DE}",
        "odd.md": f"---\nlanguage: python\n---\n{DE}",
        "german.md": DE,
        "english.md": GUIDE,
        "code.py": "houses = 1\n",
    }
    kb = Kb.create(tmp_path / "repo", files)
    kb.ok("init", "-q")

    def languages():
        return {name.removesuffix(".toml"): parse_manifest(data.decode(), name).language for name, data in kb.manifests().items()}

    kb.ok("ingest", "-q")
    assert languages() == {"short.md": "", "said.md": "fr", "odd.md": "de", "german.md": "de", "english.md": "", "code.py": ""}
    kb.write("kb.config.json", '{"language": {"default": "sv"}}')
    kb.ok("ingest", "-q", "--force")
    assert languages() == {"short.md": "sv", "said.md": "fr", "odd.md": "de", "german.md": "de", "english.md": "", "code.py": "sv"}
    kb.write("kb.config.json", '{"language": {"default": "en", "detect": false}}')
    kb.ok("ingest", "-q", "--force")
    assert languages() == {"short.md": "", "said.md": "fr", "odd.md": "", "german.md": "", "english.md": "", "code.py": ""}


def test_tokens_shows_the_terms_of_a_language(model):
    assert model.ok("tokens", stdin="Häuser".encode()) == "body\tHäuser\thauser\n"
    assert model.ok("tokens", "--language", "de", stdin="Häuser".encode()) == "body\tHäuser\thaus\n"
