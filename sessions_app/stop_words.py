"""Words that every conversation is full of: they are no topic. They have four letters at least, for
shorter ones do not count anyway."""

# ruff: noqa: SIM905, RUF001 - lists would be pages long; some letters of Cyrillic look like others
ENGLISH = frozenset(
    """
    able about above across actually after again against ahead almost along already also although always
    among another anybody anyone anything anyway around away back because been before being below
    between both bring came cannot cant come could couldn't couldnt did didn't didnt does doesn't doesnt
    doing done don't dont down each either else enough even ever every everyone everything find first
    from further gave gets getting give goes going gone good great hadn't half hasn't have haven't
    having hello help here hers herself himself however i'd i'll i'm i've into isn't it's itself just
    keep kind know last later least less let's like likely little long look looking made make makes
    making many maybe mean might mine more most much must myself need needs never next nobody none
    nothing okay once only onto other others otherwise ought ours ourselves over perhaps please put
    quite rather really right said same says seem seems should shouldn't show since some somebody
    someone something sometimes soon still stuff such sure take taken tell than thank thanks that that's
    thats their theirs them themselves then there there's these they they're they've thing things think
    this those though through thus time together told tomorrow took toward towards tried true turn under
    unless until upon used uses using very want wants wasn't well went were weren't what what's whatever
    when whenever where whether which while whoever whole whom whose will with within without won't wont
    would wouldn't yeah your you're youre yours yourself you've
    """.split()
)
# The most frequent ones alone: what is left of them is seen by a person at once.
OTHERS = frozenset(
    """
    aber alle allem allen aller alles also andere anderen auch beim bereits bitte brauche damit danach
    danke dann darauf dass dein deine deinen dem denn deren deshalb diese diesem diesen dieser dieses
    doch dort durch eine einem einen einer eines einfach etwas euch euer eure ganz geht gern gerne gibt
    habe haben hallo hast hatte hatten heute hier ihre ihrem ihren ihrer immer jede jeden jeder jetzt
    kann kannst kein keine keinen könnte könnten können lassen machen macht mein meine meinem meinen
    meiner mich morgen muss musst müssen nach nicht nichts noch oder ohne schon sehr sein seine seinem
    seinen seiner seit sich sind soll sollen sollte sondern unser unsere unserem unseren unter viel
    viele vielleicht warum wann weil welche welchen welcher welches wenn werde werden wieder will wird
    wirklich wissen wollen wurde wurden würde würden zwischen über algo algunos antes aquí aunque bien
    cada como cómo con contra cual cuál cuando cuándo cuánto desde donde dónde durante ella ellos entre
    eran eres esta está estaba están estar estas este esto estos estoy favor gracias hace hacer hacia
    hasta hola luego mientras mismo mucho muchos nada nosotros nuestra nuestro otra otro otros para pero
    poco porque puede pueden puedes puedo pues qué quien quién quiero sería siempre sobre solo sólo
    somos también tanto tenemos tengo tiene tienen tienes toda todas todo todos tuve tuvo unas unos
    usted vamos alors après aussi autre autres avant avec avez avoir avons bonjour cela celle celui
    cette ceux chaque chez comme comment dans depuis deux dire dois donc elle elles encore étaient était
    êtes être faire fait faut juste leur leurs mais merci même moins notre nous parce pendant peut peux
    plus pour pourquoi pouvez près quand quel quelle quelles quels quelque sans sera serait ses sinon
    sont sous suis tous tout toute toutes très vers voici voilà votre vous voudrais agora ainda algum
    anche ancora aqui assim avere cosa così come dalla delle della dello depois dove essere estou foi
    isso isto loro mesmo mesma molto muito nella nelle nosso obrigado onde ontem pela pelo perché però
    pode posso pouco quale quando quanto quella quello questa queste questi questo sempre senza siamo
    sono sopra stato também tenho tutti tutto você vocês voglio vorrei если есть была были было быть
    вами вас ваш ваша ведь весь вопрос всегда всего всех всё где даже день для завтра здесь именно какая
    какие какой когда которая которые который кроме кто куда лучше между меня мене мне много может
    можешь можно мой моя надо него неё нельзя нет нибудь никогда ничего нужно них опять очень перед пока
    после потом потому почему пожалуйста почти привет просто сегодня себе себя сейчас снова совсем
    спасибо такая такие такой также тебе тебя тогда того тоже только тому тот туда тут уже хорошо хочу
    через чего чем что чтобы чтоб эта эти это этого этой этом этот
    """.split()
)
STOP_WORDS = ENGLISH | OTHERS
# Signs that make grammar and no meaning, and words of two signs that do.
HAN_SIGNS = frozenset(
    "的了是我你他她它們这這那不在和就都也吗嗎呢吧啊把被给給让讓没沒很還还個个什麼么怎为為请請着與与及或再又"
)
HAN_WORDS = frozenset(
    """
    一下 一个 一些 一样 一起 一直 上面 下面 之后 之前 今天 昨天 明天 现在 以后 以前 因此 因为 但是 可以
    可能 同时 关于 其他 其实 出来 只有 只是 只能 各位 告诉 如何 如果 好像 好的 已经 应该 当然 我们 所以
    所有 接下 时候 时间 最后 最近 最好 有点 有些 比如 然后 特别 知道 看看 而且 自己 能够 觉得 谢谢 您好
    你好 这样 这些 这种 那么 那样 里面 开始 需要 非常 马上 麻烦 首先 今日 昨日 明日 今回 以上 以下 場合
    必要 本当 大丈夫 方法 自分 皆様 宜敷
    """.split()
)
KOREAN = frozenset(
    """
    그리고 그런데 그래서 하지만 저는 제가 나는 내가 우리 이것 그것 저것 여기 거기 지금
    오늘 내일 어제 어떻게 무엇 언제 어디 있는 없는 하는 해서 주세요 합니다 있습니다 입니다
    """.split()
)
