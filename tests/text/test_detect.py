"""Languages are told from script and function words, and never wrongly from little."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.model.document import is_language
from git_kb.text.detect import PROSE_TYPES, SAMPLE, declared_language, detect_language, document_language
from git_kb.text.function_words import LANGUAGES, function_words

TEXTS = {
    "en": "The hive stands on level ground, and its entrance faces to the south. If it does not, the bees have less sun.",
    "de": "Der Bienenstock steht auf ebenem Boden, und das Flugloch zeigt nach Süden. Wenn es das nicht tut, haben die Bienen weniger Sonne.",
    "nl": "De bijenkast staat op een vlakke bodem en de opening is naar het zuiden gericht. Als dat niet zo is, hebben de bijen minder zon.",
    "fr": "La ruche se trouve sur un terrain plat et son entrée est tournée vers le sud. Si ce n'est pas le cas, les abeilles ont moins de soleil.",
    "es": "La colmena está en un terreno llano y su entrada mira hacia el sur. Si no es así, las abejas tienen menos sol por la mañana.",
    "pt": "A colmeia fica num terreno plano e a sua entrada está virada para o sul. Se não for assim, as abelhas têm menos sol.",
    "it": "L'alveare si trova su un terreno piano e il suo ingresso è rivolto a sud. Se non è così, le api hanno meno sole per la mattina.",
    "sv": "Kupan står på plan mark och ingången är vänd mot söder. Om den inte är det får bina mindre sol, och det är inte bra för dem.",
    "da": "Bistadet står på jævn grund, og indgangen vender mod syd. Hvis den ikke gør det, får bierne mindre sol, og det er ikke godt for dem.",
    "fi": "Pesä on tasaisella maalla ja sen aukko on etelään päin. Jos se ei ole, mehiläiset saavat vähemmän aurinkoa, mutta se ei ole vaarallista.",
    "hu": "A kaptár egyenes talajon áll, és a bejárata délre néz. Ha ez nem így van, akkor a méhek kevesebb napot kapnak, de az nem baj.",
    "pl": "Ul stoi na równym gruncie, a jego wejście jest zwrócone na południe. Jeśli tak nie jest, to pszczoły mają mniej słońca.",
    "cs": "Úl stojí na rovné půdě a jeho vchod je obrácen na jih. Pokud tomu tak není, mají včely méně slunce, ale není to zlé.",
    "tr": "Kovan düz bir zeminde durur ve girişi güneye bakar. Böyle değilse arılar daha az güneş alır ve bu onlar için iyi olmaz.",
    "id": "Sarang lebah itu berada di tanah yang datar dan pintunya menghadap ke selatan. Jika tidak, lebah akan mendapat lebih sedikit matahari.",
    "vi": "Tổ ong được đặt trên đất bằng và cửa của nó quay về phía nam. Nếu không như thế thì đàn ong sẽ có ít nắng hơn.",
    "ru": "Улей стоит на ровной земле, а вход обращён на юг. Если это не так, пчёлы получают меньше солнца.",
    "uk": "Вулик стоїть на рівній землі, а його вхід звернений на південь. Якщо це не так, бджоли мають менше сонця.",
    "bg": "Кошерът стои на равна земя, а входът му гледа на юг. Ако не е така, пчелите имат по-малко слънце.",
    "el": "Η κυψέλη βρίσκεται σε επίπεδο έδαφος και η είσοδός της βλέπει προς τον νότο.",
    "he": "הכוורת עומדת על קרקע ישרה והכניסה שלה פונה דרומה.",
    "ar": "تقف الخلية على أرض مستوية ويتجه مدخلها نحو الجنوب، وإلا فإن النحل يحصل على شمس أقل.",
    "fa": "کندو روی زمین صاف قرار دارد و ورودی آن رو به جنوب است. اگر چنین نباشد، زنبورها آفتاب کمتری می‌گیرند.",
    "ur": "چھتا ہموار زمین پر کھڑا ہے اور اس کا دروازہ جنوب کی طرف ہے۔ اگر ایسا نہ ہو تو مکھیوں کو کم دھوپ ملتی ہے۔",
    "hi": "छत्ता समतल ज़मीन पर खड़ा है और उसका द्वार दक्षिण की ओर है। अगर ऐसा नहीं है, तो मधुमक्खियों को कम धूप मिलती है।",
    "ta": "தேன்கூடு சமமான தரையில் நிற்கிறது, அதன் வாயில் தெற்கு நோக்கி உள்ளது.",
    "th": "รังผึ้งตั้งอยู่บนพื้นราบ และทางเข้าหันไปทางทิศใต้",
    "km": "សំបុកឃ្មុំស្ថិតនៅលើដីរាបស្មើ ហើយច្រកចូលបែរទៅទិសខាងត្បូង",
    "my": "ပျားအုံသည် မြေပြန့်ပေါ်တွင် တည်ရှိပြီး အဝင်ဝသည် တောင်ဘက်သို့ မျက်နှာမူသည်",
    "zh": "蜂箱放在平地上，入口朝南。否则蜜蜂得到的阳光较少。",
    "ja": "巣箱は平らな地面に置かれ、入り口は南を向いています。",
    "ko": "벌통은 평평한 땅에 놓이고 입구는 남쪽을 향한다.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_two_sentences_tell_the_language(language):
    assert detect_language(TEXTS[language]) == language
    assert (
        document_language("text/markdown", f"# `git kb`\n\n{TEXTS[language]}\n\n```\nfor x in the_list: if x is not y\n```\n")
        == language
    )


@given(st.text())
def test_any_text_is_in_a_language_or_none(text):
    found = detect_language(text)
    assert found == "" or is_language(found)
    assert detect_language(text) == found


@given(st.text(), st.sampled_from([*PROSE_TYPES, "text/x-python", ""]))
def test_any_document_has_a_language_or_none(text, mime):
    found = document_language(mime, text)
    assert found == "" or is_language(found)


@given(st.lists(st.sampled_from([w for language in LANGUAGES for w in sorted(function_words(language))]), max_size=2))
def test_two_words_tell_nothing_in_latin_letters(words):
    if all(max(w) < "\u0250" for w in words):
        assert detect_language(" ".join(words)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "pip install git-kb",
        "x = [d.l]\nfoo(n, e, s, y)\n" * 20,
        TEXTS["de"] + " " + TEXTS["en"],
    ],
)
def test_short_mixed_and_other_text_tells_nothing(text):
    assert detect_language(text) == ""


def test_code_is_in_no_language():
    assert document_language("text/x-python", "# " + TEXTS["de"]) == ""


def test_the_middle_of_a_long_text_counts_too():
    assert detect_language("1234 " * SAMPLE + TEXTS["de"] * (5 * SAMPLE // len(TEXTS["de"]) * 2)) == "de"


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("de", "de"),
        ("pt-BR", "pt"),
        (" ZH_tw ", "zh"),
        ("gsw", "gsw"),
        ("", ""),
        ("python", ""),
        ("c++", ""),
        ("d", ""),
        ("é2", ""),
    ],
)
def test_front_matter_names_a_language_by_its_code(said, language):
    assert declared_language(said) == language
