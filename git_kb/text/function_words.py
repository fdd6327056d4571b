"""Function words by language: what says little in a query, and tells which language a text is in."""

from __future__ import annotations

from git_kb.text.words import STOP_WORDS

# Language -> its most frequent articles, pronouns, prepositions, conjunctions, auxiliaries and question words.
# English has its list in `words`, since every search needs it.
_LISTED = {
    "de": (
        "aber als am an auch auf aus bei beim bis da dadurch damit dann das dass dem den der des die dies "
        "diese diesem diesen dieser dieses doch du durch ein eine einem einen einer eines er es für gegen "
        "haben hat hatte hatten ich ihm ihn ihr ihre ihrem ihren ihrer im in ins ist ja jede jeder kann "
        "können mit nach nicht noch nur ob oder sehr sein seine seinem seinen seiner sich sie sind so über um "
        "und uns unter vom von vor wann war waren warum was welche welchem welchen welcher welches wenn "
        "werden wer wessen wem wen wie wird wir wo wodurch womit wurde wurden zu zum zur zwischen"
    ),
    "nl": (
        "aan al als bij dan dat de deze die dit door een en er ge geen had heb hebben heeft hem het hij hoe "
        "hoeveel hun ik in is je kan kunnen maar meer met mijn naar niet nog nu of om onder ook op over te "
        "tot uit van veel voor waar waarom wanneer was wat we welk welke werd werden wie wij worden wordt ze "
        "zich zijn zo zij zou"
    ),
    "fr": (
        "à au aussi aux avec c ce ces cet cette ceux chez comme comment d dans de des dont du elle elles en "
        "entre est et étaient était être eu fait il ils j je l la laquelle le lequel les leur leurs lui m "
        "mais me même n ne ni nos notre nous on ont où par pas plus pour pourquoi qu quand que quel quelle "
        "quelles quels qui quoi s sa sans se selon ses si son sont sous sur t te tu un une vos votre vous y"
    ),
    "es": (
        "a al algo ante aunque como con cómo cual cuál cuáles cuando cuándo cuánto cuántos de del desde donde "
        "dónde dos el él ella ellos en entre era eran es esa ese eso esta está están este esto estos estas "
        "fue fueron ha había han hasta hay la las le les lo los más me muy ni no nos o para pero por porque "
        "qué que quién quien se según ser si sí sin sobre son su sus también tan te tiene tienen tras tu un "
        "una unas uno unos y ya yo"
    ),
    "pt": (
        "a ao aos as às até com como da das de dela dele do dos e ela elas ele eles em entre era essa esse "
        "esta está estão este eu foi foram há isso isto já lhe mais mas me mesmo muito na nas não nem no nos "
        "nós o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto quantos que quem se "
        "seja sem ser seu seus só sua suas também te tem têm um uma você"
    ),
    "it": (
        "a ad agli ai al alla alle allo anche che chi ci come con cosa cui da dai dal dalla dalle dei del "
        "della delle dello di dove e è ed era erano fra gli ha hanno i il in io la le lei lo loro lui ma mi "
        "nei nel nella nelle nello non o per perché più qual quale quali quando quanti quanto quella quello "
        "questa queste questi questo se sono stata stato su sua sue sugli sui sul sulla sulle suo suoi tra un "
        "una uno vi"
    ),
    "ca": (
        "a al als amb aquest aquesta aquests així com d de del dels des dins el ella ells els em en entre era "
        "eren és es està fins ha han hi i ja l la les li lo més molt n ni no o on pel pels per però perquè "
        "què quan quant quants que qui quin quina quins s sense ser seu seus seva si sobre són també té un "
        "una uns va van"
    ),
    "ro": (
        "a acest această aceste acestea ai al ale am ar are au avea că care câte câți când ce cea cei cel "
        "cele cine cu cum da dacă dar de decât deci despre din după e ea ei el ele erau este eu fi fie fiind "
        "fost iar îi îl în între la le lor lui mai mult ne nici nu o pe pentru prin sa sau să se și şi său "
        "sunt în spre un unde unei unor unui va vor"
    ),
    "sv": (
        "att av blev blir bland de dem den denna deras dess det detta dig din du där efter ej eller en ett "
        "från för göra ha hade han hans har hon hur hos i in inte jag kan kunde man med mellan men mot mycket "
        "ni när någon något och om på sedan sig sin sina sitt ska skulle som så till under upp ut vad var "
        "vara varför vem vi vid vilka vilken vilket är än åt över"
    ),
    "da": (
        "ad af alle at blev blive bliver da de dem den denne der deres det dette dig din du efter eller en er "
        "et for fra få ham han hans har havde hun hvad hvem hvilke hvilken hvilket hvis hvor hvordan hvorfor "
        "hvornår i ikke ind jeg kan kunne man med meget mellem men mod mange når noget nogle nu og også om op "
        "over på sig sin skal skulle som så til ud under var ved vi vil være været"
    ),
    "no": (
        "alle at av ble bli blir både da de dem den denne der deres det dette din du eller en er et etter for "
        "fra få ha hadde han hans har hun hva hvem hvilke hvilken hvilket hvis hvor hvordan hvorfor i ikke "
        "inn jeg kan kunne man med meg mellom men mot mye må når noe noen nå og også om opp over på seg sin "
        "skal skulle som så til ut under var ved vi vil være vært"
    ),
    "fi": (
        "ei eivät eli en ennen ettei että hän hänen he itse ja jo joka joiden joita jos jossa jotka juuri "
        "jälkeen kanssa kaikki keskellä kuin kuka kuinka kun kuten lisäksi me mikä miksi milloin millainen "
        "minä missä mistä mitä mitkä monta mukaan mutta myös mm ne niiden niin noin nyt ole oli olisi olivat "
        "ollut on ovat pitkin se sekä sen sillä siitä sitä siten tai taas tämä tämän tätä vaan vain vai voi "
        "voidaan vuonna yli"
    ),
    "hu": (
        "a abban akkor ami amely amelyek amikor az azok azt azonban csak de e egy egyik el én ennek és ez "
        "ezek ezen ezt fel ha hány hogy hogyan hol illetve is ki kik között köztük le lehet majd már meg "
        "melyik melyek mely mennyi mert mi miért mikor milyen mint mit minden még nagyon nem nincs olyan ő ők "
        "s sem szerint során több után utolsó vagy van vannak volt voltak által át össze úgy új"
    ),
    "tr": (
        "acaba ama ancak az bazı bir biri birçok bu buna bunlar bunu bunun böyle çok çünkü da daha de değil "
        "diye dolayı en fakat gibi göre hangi hangisi hem hep her için ile ise kaç kadar karşı ki kim kime "
        "kimin mi mı mu mü nasıl ne neden nedir nerede niçin niye o olan olarak oldu olduğu olup olur on ona "
        "onlar onun sadece sonra şey şu tarafından üzerinde üzere var ve veya ya yani yok"
    ),
    "pl": (
        "a aby albo ale ani bez być był była było były bo by chociaż co czy czyli dla do gdy gdzie go i ich "
        "ile im innych ja jak jaki jaka jakie jako je jednak jego jej jest już kiedy kto która które którego "
        "której który których lub ma mają między na nad nie niż o od on ona one oraz po pod podczas przed "
        "przez przy są się tak także tam te tego tej ten też to tych tylko tym u w we więc wszystkich z za ze "
        "został została że"
    ),
    "cs": (
        "a aby aj ale ani až bez bude by byl byla bylo byly být co což další dle do i ho j ja jak jaká jaké "
        "jako je jeho její jejich jen ještě již jsem jsou jsme k kam kde kdo kdy kolik která které který ke "
        "ku ma má mají mezi mi mimo na nad ne nebo než o od ona po pod podle pokud pouze pro proč proto před "
        "při s se si tak také tedy tento této této tím to toho tuto u v ve však více všech z za ze že"
    ),
    "id": (
        "ada adalah agar akan antara apa apakah atau bagaimana bagi bahwa banyak beberapa belum berapa bisa "
        "dalam dan dapat dari dengan di dia hanya harus hingga ia ini itu jika juga kami karena ke kepada "
        "kita lain lebih mana mengapa mereka maka namun oleh pada para pernah saat saya sebagai sebuah "
        "sedangkan sejak sekitar selama seorang seperti serta setelah siapa sudah tahun telah tersebut tetapi "
        "tidak untuk yaitu yang"
    ),
    "et": (
        "aga ainult aastal ei ehk enne et ja järgi jaoks juba kas kes kelle kui kuid kuidas kus kõik küll "
        "lisaks ma me mees mida miks millal millest mis mitu mõne nad neid nii nende ning oli olid olla oma "
        "on pole pärast saab samuti see seda selle selles siis ta tema tuleb vaid veel või võib üle"
    ),
    "lt": (
        "apie ar arba bei bet buvo būti dar dėl iki ir iš į jau jei jie jis jo jos jų kad kai kaip kas kiek "
        "kokia koks kur kurie kuris kurios ne nei nes nuo o pagal per po prie prieš su tai taip tačiau tarp "
        "tik to tuo už visi yra šio šis ši"
    ),
    "ga": (
        "a ach ag agus an ann ar as atá bhí cad cé cén chun conas cá dá de do é faoi féin freisin go gur i "
        "iad is í le leis mar na nach ná ní nó nuair ó os roimh sa san seo sin sé siad sí sna tá tar trí um"
    ),
    "eu": (
        "al anitz arte arabera askotan ba bada baina bai bat batek baten batzuk bera bere beraiek beren beste "
        "da dago dira du dute dituzte eta edo egin ere ez ezin gabe gisa hau hauek hori horiek ia izan izango "
        "noiz nola non nor oso ondoren ordea zein zen zer zergatik ziren zituen zuen zuten zenbat"
    ),
    "eo": (
        "al ankaŭ antaŭ aŭ cent ĉar ĉe ĉi ĉiu ĉiuj da de dum eble ekde el en estas esti estis ĝi ĝis ĝia "
        "havas ili ilia inter jam je kaj kial kiam kie kio kiu kiuj kiel kun la laŭ li lia kiom mi ne nek nur "
        "oni per pli plej po por post pri pro se sed ŝi si sia sub sur tamen tio tiu tiuj tre tra unu"
    ),
    "vi": (
        "bao bị các cái cho chỉ chưa có còn cũng của do dưới đã đang đây để đến đều đó được gì giữa hay hoặc "
        "khi không là lại lên mà mỗi một năm nào này nên nếu người như những nhiều ở ra rằng rất sau sẽ tại "
        "theo thì thế trên trong trước từ và vào vẫn về vì với việc"
    ),
    "hr": (
        "a ako ali bez bi bila bili bilo bio biti da do dok ga gde gdje i ih ili im iz iza između ja je jer "
        "jedan jedna još kada kako kao kod koja koje koji kojih kojim koliko kroz li me mnogo mu na nad nakon "
        "ne nego nekoliko nema ni nije niti o od odnosno oko on ona oni pa po pod pored prema pri s sa samo "
        "se što šta sve svi su ta taj te to tu u uz više za zašto zbog"
    ),
    "ru": (
        "а без более бы был была были было быть в вам вас весь во вот все всё всего всех вы где да для до его "
        "ее её если есть еще ещё же за и из или им их к как какая какие какое каком какой когда кого которая "
        "которого которой которые который которых кто ли лишь между меня мне может можно мы на над не него "
        "нее неё нет ни них но о об однако он она они оно от очень по под после почему при с сколько со так "
        "также такой там те тем то того тоже той только том ты у уже чего чем что чтобы эта эти это этого "
        "этой этом этот я"
    ),
    "el": (
        "αλλά αν από αυτά αυτή αυτό αυτός γιατί για δεν διότι εάν είναι είχαν είχε εκείνο ενώ επίσης έχει "
        "έχουν ή ήταν η θα και κατά με μετά μέσα μεταξύ μη μια μία να ο οι όπου όπως όταν ότι ου ούτε όχι "
        "περί πιο ποια ποιά ποιες ποιο ποιοι ποιος πολύ πόσα πόσες πόσο πόσοι που πού πότε πριν προς πως πώς "
        "σαν σε στα στη στην στις στο στον στους συν τα τη την της τι τις το τον του τους των ως ώστε ένα "
        "ένας"
    ),
    "ar": (
        "أثناء إذا إلى الا التي الذي الذين الى ألا أم أما أن أنه أو أي أيضا إن أين بأن بعد بعض بل بين تحت تلك "
        "تم ثم حتى حول حيث خلال ذلك سوف ضد ضمن عبر عدة على عليه عن عند عندما غير فإن فقط في فيه فيها قبل قد "
        "كان كانت كل كم كما كيف لا لأن لدى لذلك لقد لم لماذا لن له لها ليس ليست ما ماذا متى مثل مع مما من منذ "
        "منها منه نحو نفس هذا هذه هل هم هنا هناك هو هي و وأن وقد وكان وكانت ولا ولكن ولم وما ومن وفي وهو وهي "
        "يتم يكون كانوا"
    ),
    "hi": (
        "अपना अपनी अपने अब अभी आदि इन इस इसका इसकी इसके इसमें इसे उन उनका उनकी उनके उन्हें उस उसका उसकी उसके "
        "उसे एक एवं ऐसे और कब कर करता करते करना करने कहा कहाँ कहां का कि किया किस किसी की कितना कितनी कितने "
        "कुछ के को कोई कौन क्या क्यों गई गए गया जब जहाँ जहां जा जाता जाती जाते जाने जिन जिस जिसे जैसे जो तक "
        "तथा तब तो था थी थे दिया द्वारा न नहीं ने पर फिर बहुत बाद बीच भी मगर में यदि यह यहाँ यहां या ये रहा "
        "रही रहे लिए ले वह वहाँ वहां वाला वाली वाले वे व से सभी साथ हम ही हुआ हुई हुए है हैं हो होता होती "
        "होते होना होने"
    ),
    "mr": (
        "अशा असा असे असून आणि आता आपल्या आहे आहेत एक कारण काय किंवा की केला केली केले कोण कोणत्या च्या जर जे "
        "जो ज्या झाला झाली झाले तर तसेच ते तो त्या त्याच्या त्यांच्या दोन नंतर नाही पण मध्ये मात्र म्हणून या "
        "यांच्या येथे व हा ही हे होता होती होते होत"
    ),
    "ne": (
        "अनि उनी एउटा एक एवं कति कसरी कहिले कुन को के गरेको गरी गर्न गर्ने गरे छ छन् छैन जुन तथा तर त्यो थियो "
        "थिए देखि न नै पनि पछि बाट भएको भएका भने भन्ने मा यस यसको यी यो र रहेको लाई ले वा साथै सबै हुन हुने "
        "हुन्छ हो"
    ),
}
LANGUAGES = ("en", *_LISTED)
_known: dict[str, frozenset[str]] = {"en": STOP_WORDS}


def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language, case-folded; none of a language without a list."""
    found = _known.get(language)
    if found is None:
        found = _known[language] = frozenset(_LISTED.get(language, "").casefold().split())
    return found
