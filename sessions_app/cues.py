"""What tells a request, a fact, a decision, a solution or a nod by its words, in the languages that we know
some of.

Questions, numbers and names are seen in any language; whoever writes in another one is summed up by those and
by what the sentences mean. All patterns are for lower case: asking for both takes several times as long.
"""

import re


def _any(words: str, signs: str = "") -> re.Pattern[str]:
    """Words, of scripts that part them; and signs of those that do not."""
    found = rf"\b(?:{_joined(words)})\b"
    return re.compile(f"{found}|{_joined(signs)}" if signs else found)


def _joined(lines: str) -> str:
    """One alternative or more on a line, with `|` between them."""
    return "|".join(line for line in map(str.strip, lines.splitlines()) if line)


REQUEST = _any(
    r"""
    please|can you|could you|would you|will you|i need|we need|i want|we want|i would like|i'd like
    help me|make sure|remind me|show me|tell me|let me know when|look into|do not|don't
    find|fix|add|write|change|remove|book|send|create|update|check|try|keep|use
    bitte|kannst du|könntest du|können sie|könnten sie|ich brauche|wir brauchen|ich möchte|ich will
    erinnere mich|hilf mir
    por favor|puedes|podrías|necesito|quiero|quisiera|ayúdame|recuérdame|você pode|preciso|quero
    s'il (?:vous|te) plaît|peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|j'ai besoin|je voudrais
    per favore|puoi|potresti|ho bisogno|vorrei
    пожалуйста|можешь|можете|мне нужно|нам нужно|хочу|помоги|напомни
    """,
    """
    请|請|帮我|幫我|能不能|可以帮|需要|想要|提醒我|不要|ください|お願い|してほしい|해 ?주세요|해 ?줘|부탁
    """,
)
FACT = _any(
    r"""
    i am|i'm|we are|we're|i work|we work|i have|we have|my \w+ is|our \w+ is|i like|i don't like
    deadline|due|the password|version|depends on|starting|since|until|must|only
    ich bin|wir sind|ich arbeite|ich habe|ich mag|frist|seit|spätestens|nur
    soy|trabajo|tengo|fecha límite|je suis|je travaille|j'ai|date limite|lavoro|scadenza
    я работаю|у меня|срок
    """,
    """
    我是|我们是|我在|我的|截止|负责人|必须|私は|僕は|締め切り|저는|마감
    """,
)
# What is true tomorrow as well: who somebody is, what they always or never want.
LASTING = _any(
    r"""
    my name|i'm called|call me|i live|we live|i moved|i've (?:just )?moved|birthday
    allergic|allergy|vegetarian|vegan
    i prefer|i love|i hate|always|never|remember|keep in mind
    ich heiße|mein name|ich wohne|allergisch|immer|niemals|merk dir
    me llamo|vivo en|prefiero|alérgic[oa]|siempre|nunca|meu nome|moro em|prefiro
    je m'appelle|j'habite|je préfère|allergique|toujours|jamais
    mi chiamo|abito|preferisco|меня зовут|я живу|всегда|никогда
    """,
    """
    我叫|我住|我喜欢|我不喜欢|过敏|以后请|アレルギー|제 이름
    """,
)
DECISION = _any(
    r"""
    we(?:'ll| will)|let's|i(?:'ll| will)|we should|the plan is|going with|go with|from now on
    decided|agreed|chose|instead of|rather than|no longer|settled|approved
    wir machen|lass uns|entschieden|beschlossen|einverstanden|statt|stattdessen|ab jetzt|ab sofort
    decidido|decidí|decidimos|vamos a|acordamos|en lugar de|de ahora en adelante
    décidé|on va|d'accord|au lieu de|désormais
    deciso|d'accordo|invece di
    решил[аи]?|решили|договорились|вместо|давай(?:те)?
    """,
    """
    决定|就用|改用|选择|同意|以后[请都]|从现在起|执行吧|にします|に決め|ことにし|결정|하기로
    """,
)
SOLVED = _any(
    r"""
    fixed|fixes|solved|resolved|works(?: now| again)?|the (?:problem|cause|reason|issue|root cause) (?:was|is)
    because|turned out|caused by|due to|the solution|failed|fails|done|finished|completed|installed|deployed
    merged|rolled back|restored|passed?|is open|is ready|is in your|i(?:'ve| have) \w+ed
    i (?:found|put|sent|wrote|rewrote|made|set|built|\w+ed)
    behoben|gelöst|funktioniert|der grund|die ursache|weil|lag an|fehlgeschlagen|erledigt|fertig|gebucht
    arreglado|resuelto|solucionado|funciona|la causa|porque|falló|hecho|listo|resolvido|feito
    corrigé|résolu|réparé|fonctionne|la cause|parce que|échoué|terminé|c'est fait
    risolto|funziona|la causa|perché|fatto
    исправлен[оа]?|решен[оа]?|работает|причина|потому что|готово|сделано
    """,
    """
    原因|因为|因為|由于|导致|導致|修复|修復|解决|解決|已完成|完成了|成功|失败|失敗|已经|直しました|直りました|完了
    해결|완료|때문|실패
    """,
)
# What somebody is about to do is told again when it is done.
ABOUT_TO = _any(
    r"""
    let me (?:look|check|see|take|try|search|think|find|get|start|have)
    i(?:'ll| will) (?:take a look|look|check|try|see|start|get)
    one moment|just a (?:moment|second)|give me a|looking into|working on it
    ich schaue|ich prüfe|ich sehe mir|einen moment
    voy a (?:ver|mirar|revisar)|je vais (?:voir|regarder|vérifier)
    """,
    """
    我来(?:检查|看|查)|让我|稍等|確認します|調べます|확인해 ?보
    """,
)
_NODS = _joined(
    r"""
    sure|ok(?:ay)?|great|good|nice|cool|thanks|thank you|thx|hi|hello|hey|there|of course|certainly|absolutely
    no problem|perfect|awesome|wonderful|excellent|got it|understood|noted|yes|yep|yeah|no|right|alright|fine
    ugh|hm+|ah|oh|wow|please|so|very|much|a lot|again|all|then|now|well|done|sounds|catch|point|idea|job|work
    morning|evening|afternoon|day|welcome|you're|you are|bye|goodbye|you|that's|that is|it
    for (?:your|the) help
    danke|super|prima|gerne?|ja|nein|guten (?:morgen|tag|abend)|hallo|alles klar|vielen|schön|bitte
    gracias|hola|vale|claro|sí|perfecto|muchas|buenos días|de nada|obrigad[oa]
    merci|bonjour|d'accord|parfait|beaucoup|grazie|ciao
    спасибо|привет|хорошо|да|нет|отлично|понятно
    """
)
_NODDING_SIGNS = _joined(
    """
    你好|您好|谢谢|謝謝|多谢|好的?|太好了|不客气|不客氣|明白了?|没问题|收到|嗯|是的
    ありがとう(?:ございます)?|はい|こんにちは|了解(?:です|しました)?|감사합니다|고마워요?|네|안녕하세요
    """
)
NOD = re.compile(rf"(?:(?:(?:{_NODS})\b|{_NODDING_SIGNS})[\W_]*)+")
POLITE = re.compile(
    "(?:"
    + _joined(
        r"""
        let me know|i hope|hope (?:this|that)|feel free|happy to|glad|is there anything|anything else
        how can i|how may i|have a|enjoy|you(?:'re| are) welcome|good (?:luck|day|morning|evening)
        i(?:'m| am) sorry|sorry|my apologies|thank you for|thanks for|don't hesitate|very glad|nice to meet
        welcome|take care|bei fragen|gern geschehen|viel (?:spaß|erfolg)|n'hésite|no dudes
        有什么可以帮|还有什么|很高兴|希望|如果还有|どういたしまして|何か他に
        """
    )
    + ")"
)
