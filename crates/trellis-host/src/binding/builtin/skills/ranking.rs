//! Ranking: how well skills fit a query, by the words of it that tell something (language 11.10).
//!
//! In: the texts of a query and of a card. Out: a score from 0 to 1, and whether the query means the card. Both depend on nothing but the two, so that
//! they mean the same in a folder of two skills and of a thousand.
//!
//! A query means a card that explains it: more than half of its telling words are the card's, at least two, and one of these is in the name of the card
//! or among its tags; or it has all telling words of the id or the title, at least two; or it has one, and that is the whole id, title or a tag. A single
//! word in common would let `break the ice`, or `why things`, mean `Break things`. What a clause with a negation says is not wished.
//!
//! **Example.** Of `tidy the door logs`, `the` says nothing. A skill `Tidy the logs` has two of three words in its title, and the query has the whole
//! title: (2/3 + 1) / 2 = 0.83.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::card::SkillCard;

/// Words of a query that count.
const MAX_QUERY_WORDS: usize = 32;

/// The weight of a word in the text of a card, against one in its name, title or tags.
const IN_TEXT: f64 = 0.5;

/// Letters from which on a word may be the beginning of another.
const MIN_BEGINNING: usize = 3;

/// Letters by which a word of a query may be longer than that of a card: `logs` is found as `log`.
const MAX_ENDING: usize = 2;

/// The greatest score of a card that the query does not mean.
const MAX_UNMEANT: f64 = 0.5;

/// Words of a `reason`.
const REASON_WORDS: usize = 24;

/// The language whose function words never tell anything.
const ENGLISH: &str = "en";

/// English with Hindi, whose list has English words that tell something.
const HINGLISH: &str = "hinglish";

/// Function words of a text from which on it is in their language.
const MIN_SPOKEN: usize = 2;

/// Words of courtesy, and those of Korean that stand for others.
const COURTESY: &[&str] = &[
    "also",
    "could",
    "get",
    "give",
    "hello",
    "help",
    "hey",
    "hi",
    "let",
    "like",
    "may",
    "might",
    "must",
    "need",
    "please",
    "tell",
    "thanks",
    "us",
    "want",
    "would",
    "yes",
    "그",
    "그거",
    "그것",
    "나",
    "내",
    "내가",
    "너",
    "도와줘",
    "뭐",
    "무엇",
    "부탁해",
    "어떻게",
    "어디",
    "언제",
    "왜",
    "이",
    "이거",
    "이것",
    "있는",
    "저",
    "저거",
    "저것",
    "제발",
    "조금",
    "좀",
    "주세요",
    "줘",
    "할",
    "해",
    "해줘",
];

/// Words that negate, and those that stand for them.
const NEGATIONS: &str = "avoid cannot cant didnt doesnt dont isnt neither never no nobody none nor not nothing prevent refuse shouldnt wont wouldnt \
    kein keine keinem keinen keiner keines nicht nichts nie niemals geen niet niets nooit aucun aucune jamais ne non pas rien nada ningun ninguna ninguno \
    nunca niente nessun nessuna nessuno nao nenhum nenhuma ikke inte aldri aldrig ej icke ei ala alka nie nigdy nikdy nem soha nu degil hayir hicbir \
    не нет нельзя ни никогда ні ніколи δεν μη μην οχι ποτε لا لم لن ليس אל לא אין नहीं मत ना tidak jangan bukan khong đung \
    안 못 마 마라 마세요 말고 말아 말아줘 않고 않게 하지마 하지마세요";

/// Negations that are something else in other languages: these, by the code of the language.
const ELSEWHERE: &[(&str, &[&str])] =
    &[("dont", &["fr"]), ("ei", &["de", "no"]), ("ne", &["az", "it", "ro", "tr"]), ("no", &["pt"]), ("nu", &["da", "nl", "sv"])];

/// Negations of scripts that put no spaces between words.
const UNSPACED_NEGATIONS: &[&str] = &["不", "没", "沒", "别", "別", "勿", "ない", "なく", "ません", "するな", "ไม่", "อย่า"];

/// Words between a clause that negates and one that does not.
const CONTRASTS: &[&str] = &["aber", "ale", "but", "fakat", "mais", "maar", "men", "pero", "sino", "sondern", "но"];

/// Characters of Han that make no content word: pronouns, particles, words of questions and of courtesy.
const FUNCTION_HAN: &str = "的了是在我你您他她它们們这這那哪谁誰什怎么麼吗嗎呢吧啊呀和与與或也都就很请請帮幫给給把被让讓为為";

/// The function words of languages, in lower case and without accents.
static FUNCTION_WORDS: LazyLock<BTreeMap<&str, BTreeSet<String>>> = LazyLock::new(|| {
    let languages = stop_words::available_languages().iter().filter(|language| **language != HINGLISH);
    languages.map(|&language| (language, stop_words::get(language).iter().flat_map(|word| words(word)).collect())).collect()
});

/// The negations, as [`words`] writes words.
static NEGATED: LazyLock<BTreeSet<String>> = LazyLock::new(|| words(NEGATIONS).into_iter().collect());

/// The words of a query that tell something, each once.
#[derive(Debug)]
pub(super) struct TellingWords {
    all: Vec<String>,
    /// Those that no negation takes back.
    wished: Vec<String>,
}

/// The fit of a card to a query.
#[derive(Debug)]
pub(super) struct Fit {
    /// From 0 to 1.
    pub(super) score: f64,
    /// True if the query means the card, and does not just share a word with it.
    pub(super) is_meant: bool,
}

impl TellingWords {
    pub(super) fn of(text: &str) -> Self {
        let every = words(text);
        let languages = languages_of(&every);
        let says_nothing = |word: &str| {
            COURTESY.contains(&word) || word.chars().any(is_function_char) || languages.iter().any(|(_, language)| language.contains(word))
        };
        let telling = |words: Vec<String>| {
            let mut telling = Vec::new();
            for word in words {
                if telling.len() < MAX_QUERY_WORDS && !says_nothing(&word) && !telling.contains(&word) {
                    telling.push(word);
                }
            }
            telling
        };
        let language_codes: Vec<&str> = languages.iter().map(|(name, _)| *name).collect();
        Self { all: telling(every), wished: telling(wished_words(text, &language_codes)) }
    }

    /// Returns how well a card fits: the share of the query that it has, or, if the query has its whole title, the mean of that and 1.
    pub(super) fn fit(&self, card: &SkillCard) -> Fit {
        let named: Vec<String> = [&card.id, &card.title].into_iter().chain(&card.tags).flat_map(|text| words(text)).collect();
        let text = words(&card.text);
        // A card that names a negation itself is not taken back by it.
        let query = if named.iter().any(|word| NEGATED.contains(word)) { &self.all } else { &self.wished };
        let is_in = |word: &str, words: &[String]| words.iter().any(|other| is_same(word, other));
        let weight = |word: &String| {
            if is_in(word, &named) {
                1.0
            } else if is_in(word, &text) {
                IN_TEXT
            } else {
                0.0
            }
        };
        let weights: Vec<f64> = query.iter().map(weight).collect();
        // The words of a name, if the query has all of them.
        let whole = |name: &String| {
            let name = Self::of(name).all;
            let is_whole = !name.is_empty() && name.iter().all(|other| query.iter().any(|word| is_same(word, other)));
            is_whole.then_some(name.len())
        };
        let has_title = whole(&card.title) > Some(1);
        let share = if weights.is_empty() { 0.0 } else { weights.iter().sum::<f64>() / count(weights.len()) };
        let score = if has_title { f64::midpoint(share, 1.0) } else { share };
        let explained = weights.iter().filter(|weight| **weight > 0.0).count();
        let is_named = weights.iter().any(|weight| *weight > IN_TEXT);
        let is_meant = match query.len() {
            1 => [&card.id, &card.title].into_iter().chain(&card.tags).any(|name| whole(name) == Some(1)),
            words => has_title || whole(&card.id) > Some(1) || explained > 1 && 2 * explained > words && is_named,
        };
        let score = if is_meant { score } else { score.min(MAX_UNMEANT) };
        Fit { score: (score * 10_000.0).round() / 10_000.0, is_meant }
    }

    /// Returns the line of a card that has most of the words, cut to a few.
    pub(super) fn reason(&self, card: &SkillCard) -> String {
        let lines = card.text.lines().map(str::trim).filter(|line| !line.is_empty());
        let met = |line: &&str| {
            let line = words(line);
            self.all.iter().filter(|word| line.iter().any(|other| is_same(word, other))).count()
        };
        // Of several, the first: `max_by_key` has the last.
        let best = lines.rev().max_by_key(met).unwrap_or_default();
        let mut words = best.split_whitespace();
        let first: Vec<&str> = words.by_ref().take(REASON_WORDS).collect();
        first.join(" ") + if words.next().is_some() { " …" } else { "" }
    }
}

fn count(of: usize) -> f64 {
    f64::from(u32::try_from(of).unwrap_or(u32::MAX))
}

/// Returns the words of the clauses of a text that do not negate.
fn wished_words(text: &str, language_codes: &[&str]) -> Vec<String> {
    let is_negation = |word: &String| {
        let is_elsewhere =
            ELSEWHERE.iter().any(|(other, languages)| other == word && languages.iter().any(|name| language_codes.contains(name)));
        NEGATED.contains(word) && !is_elsewhere
    };
    // `don't` is two words.
    let is_contracted = |pair: &[String]| matches!(pair, [one, other] if one.ends_with('n') && other == "t");
    let negates = |words: &&[String]| words.iter().any(is_negation) || words.windows(2).any(is_contracted);
    let clauses = text.split(ends_clause).filter(|clause| !UNSPACED_NEGATIONS.iter().any(|negation| clause.contains(*negation)));
    let wished = |clause: &str| {
        // `non-critical` negates no clause.
        let words = words(&clause.to_lowercase().replace("non-", ""));
        let parts = words.split(|word| CONTRASTS.contains(&word.as_str()));
        parts.filter(|part| !negates(part)).flatten().cloned().collect::<Vec<_>>()
    };
    clauses.flat_map(wished).collect()
}

/// Returns whether a character ends a clause.
fn ends_clause(char: char) -> bool {
    matches!(char, '.' | ',' | ';' | ':' | '!' | '?' | '\n' | '–' | '—' | '。' | '、' | '，' | '；' | '：' | '！' | '？' | '؟' | '،' | '؛')
}

/// Returns the languages that a text is in, by their codes, with their function words: those with most of its words, and English.
fn languages_of(words: &[String]) -> Vec<(&'static str, &'static BTreeSet<String>)> {
    let met = |language: &BTreeSet<String>| words.iter().filter(|word| language.contains(*word)).count();
    let most = FUNCTION_WORDS.values().map(met).max().unwrap_or_default().max(MIN_SPOKEN);
    let has_most = |(name, language): &(&&str, &BTreeSet<String>)| **name == ENGLISH || met(language) == most;
    FUNCTION_WORDS.iter().filter(has_most).map(|(name, language)| (*name, language)).collect()
}

/// Returns whether a character makes a pair of characters say nothing. Hiragana writes endings and particles.
fn is_function_char(char: char) -> bool {
    ('\u{3041}'..='\u{309f}').contains(&char) || FUNCTION_HAN.contains(char)
}

/// Returns whether a word of a query means one of a card: it begins it, or has only an ending more. A word of Korean carries its particles, so that two
/// syllables in common are enough.
fn is_same(word: &str, other: &str) -> bool {
    let least = if word.starts_with(is_hangul) { 2 } else { MIN_BEGINNING };
    let begins = |whole: &str, part: &str| part.chars().count() >= least && whole.starts_with(part);
    let is_ending = || word.starts_with(is_hangul) || word.chars().count() <= other.chars().count() + MAX_ENDING;
    word == other || begins(other, word) || (begins(word, other) && is_ending())
}

/// Returns the words of a text, in lower case and without accents. A script that puts no spaces between words gives its pairs of characters.
fn words(text: &str) -> Vec<String> {
    let accents = '\u{300}'..='\u{36f}';
    let folded: String = text.nfd().filter(|char| !accents.contains(char)).nfc().flat_map(char::to_lowercase).collect();
    let mut words = Vec::new();
    for run in folded.split(|char: char| !char.is_alphanumeric() && !is_combining_mark(char)).filter(|run| !run.is_empty()) {
        let chars: Vec<char> = run.chars().collect();
        for part in chars.chunk_by(|one, other| is_unspaced(*one) == is_unspaced(*other)) {
            match part {
                [first, _, ..] if is_unspaced(*first) => words.extend(part.windows(2).map(|pair| pair.iter().collect::<String>())),
                part => words.push(part.iter().collect()),
            }
        }
    }
    words
}

fn is_hangul(char: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&char)
}

/// Returns whether a character is of a script that puts no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
fn is_unspaced(char: char) -> bool {
    matches!(u32::from(char), 0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn card(id: &str, title: &str, text: &str) -> SkillCard {
        let source = format!("---\ntitle: {title}\nrun: [sh]\n---\n{text}\n");
        SkillCard::parse(id, &source, Path::new("."), Path::new(".trellis")).unwrap()
    }

    fn score(query: &str, card: &SkillCard) -> f64 {
        TellingWords::of(query).fit(card).score
    }

    fn is_meant(query: &str, card: &SkillCard) -> bool {
        TellingWords::of(query).fit(card).is_meant
    }

    #[test]
    fn words_that_say_nothing_do_not_count() {
        let breaks = card("break_things", "Break things", "A drill: it breaks what it finds, and the rest is restored.");
        for query in ["what is the weather", "please tell me something", "what", "", "how do I do that?", "이거 좀 해줘"] {
            assert!(score(query, &breaks) < 0.01, "{query}: {}", score(query, &breaks));
        }
        assert!(score("break some things", &breaks) > 0.9);
    }

    #[test]
    fn function_words_say_nothing_in_any_language() {
        for (text, queries) in [
            ("Das ist eine Sache, die alles loescht.", ["das ist die", "was ist das eine", "wie ist das wetter und die sache"]),
            ("C'est une chose qui est là pour tout effacer.", ["qu'est-ce que c'est", "qui est là pour moi", "est-ce pour une fête"]),
            ("Es una cosa que lo borra todo para que no quede nada.", ["que es lo que no", "para que es todo", "que es una fiesta"]),
            ("È una cosa che non fa più di quello.", ["che è di quello", "non è una festa", "di che è"]),
            ("Isto é uma coisa que não se faz com eles.", ["o que é isto", "que não é com eles", "é uma festa"]),
            ("Dit is een ding dat alles van ons wist.", ["wat is dit van ons", "dat is een feest", "is dit een"]),
            ("То, что у нас всё и не было.", ["что у нас было", "не то что было", "у нас праздник"]),
            ("Det är en sak som inte var för alla.", ["vad är det för en", "som det inte var", "det är en fest"]),
            ("Bu çok şey için ve daha ne kadar.", ["bu ne için", "ve daha çok", "ne için bu"]),
            ("这是我们在这里的东西。", ["这是什么", "我们在这里吗", "你在哪里"]),
            ("これはすべてを消すものです。", ["これは何ですか", "それはすごいですね", "です"]),
        ] {
            let skill = card("x", "Zap", text);
            for query in queries {
                assert!(!is_meant(query, &skill), "{query}: {:?} {:?}", TellingWords::of(query), TellingWords::of(query).fit(&skill));
            }
        }
        // A word that another language uses as one of these still tells something.
        assert!(is_meant("cat", &card("cat", "Feed the cat", "")) && is_meant("die cutting", &card("die", "Die cutting", "")));
    }

    #[test]
    fn a_word_in_common_is_no_wish() {
        let breaks = card("break_things", "Break things", "A drill: it breaks what it finds, and the rest is restored.");
        let counts = card("count_words", "Count words", "Counts the words of all logs.");
        let tidy = card("tidy_logs", "Tidy the logs", "Moves each file that is older than a week to the archive.");
        for query in ["please break the ice at the party tomorrow evening", "break the ice", "a broken heart breaks twice"] {
            assert!(!is_meant(query, &breaks), "{query}");
        }
        assert!(!is_meant("how many words are there in my long letter to grandma", &counts));
        assert!(!is_meant("Wie viele Wörter hat mein Brief an Oma, words?", &counts));
        assert!(!is_meant("tidy my kitchen", &tidy) && !is_meant("tidy the kitchen before the guests come", &tidy));
        let long = "Our disk is full since the controller of the door writes far too many logs every night, so tidy them";
        for (query, skill) in [
            ("break some things", &breaks),
            ("count all words", &counts),
            ("tidy the door logs", &tidy),
            ("archive logs", &tidy),
            (long, &tidy),
        ] {
            assert!(is_meant(query, skill), "{query}");
        }
    }

    #[test]
    fn one_word_means_a_skill_by_its_whole_name_only() {
        let breaks = card("break_things", "Break things", "A drill: it breaks what it finds.");
        for query in ["things", "why things", "what things?", "which things are there", "break", "how to break", "drill", "the drill finds"]
        {
            assert!(!is_meant(query, &breaks) && score(query, &breaks) <= MAX_UNMEANT, "{query}: {}", score(query, &breaks));
        }
        let feeds = card("cat", "Feed the animals", "It feeds.");
        assert!(is_meant("cat", &feeds) && is_meant("the cats", &feeds) && !is_meant("animals", &feeds) && !is_meant("feed", &feeds));
    }

    #[test]
    fn what_a_negation_takes_back_is_no_wish() {
        let breaks = card("break_things", "Break things", "A drill.");
        for query in [
            "do not break things",
            "don't break things",
            "don’t ever break things",
            "dont break things",
            "never break things!",
            "break no things",
            "things must not break",
            "please avoid to break things",
            "tidy up, but do not break things",
        ] {
            assert!(!is_meant(query, &breaks), "{query}: {:?}", TellingWords::of(query));
        }
        for (title, queries) in [
            ("Protokolle löschen", vec!["Protokolle bitte nicht löschen", "lösche keine Protokolle", "du sollst nie Protokolle löschen"]),
            ("Supprimer journaux", vec!["ne pas supprimer les journaux", "supprimer jamais journaux"]),
            ("Borrar registros", vec!["no borrar los registros", "nunca borrar registros"]),
            ("Cancellare registri", vec!["non cancellare i registri"]),
            ("Apagar registros", vec!["não apagar os registros"]),
            ("Logboeken wissen", vec!["logboeken niet wissen", "geen logboeken wissen"]),
            ("Удалить журналы", vec!["не удалить журналы", "никогда журналы удалить"]),
            ("Radera loggar", vec!["radera inte loggar"]),
            ("Usuń dzienniki", vec!["nie usuń dzienniki"]),
            ("Διαγραφή αρχείων", vec!["μην διαγραφή αρχείων"]),
            ("حذف السجلات", vec!["لا حذف السجلات"]),
            ("删除日志", vec!["不要删除日志", "请别删除日志"]),
            ("ログの削除", vec!["ログを削除しないで", "ログ削除するな"]),
            ("로그 삭제", vec!["로그 삭제 하지 마", "로그 삭제 안 해"]),
        ] {
            let skill = card("x", title, "");
            assert!(is_meant(title, &skill), "{title}: {:?}", TellingWords::of(title));
            for query in queries {
                assert!(!is_meant(query, &skill), "{query}: {:?}", TellingWords::of(query));
            }
        }
        let tidy = card("tidy_logs", "Tidy the logs", "");
        for query in ["tidy the logs, but do not touch the archive", "do not wait: tidy the logs", "tidy the logs but never the archive"] {
            assert!(is_meant(query, &tidy), "{query}: {:?}", TellingWords::of(query));
        }
        // A word that negates elsewhere, and a skill that is named by one.
        assert!(is_meant("limpar os logs no servidor da casa", &card("x", "Limpar logs", "")));
        assert!(is_meant("tidy the non-critical logs", &tidy));
        assert!(is_meant("do not disturb", &card("x", "Do not disturb", "")) && !is_meant("do not disturb", &card("x", "Disturb", "")));
    }

    #[test]
    fn words_count_by_where_they_stand_and_how_much_of_the_query_they_are() {
        let tidy = card("tidy_logs", "Tidy the logs", "Moves each file that is older than a week to the archive.");
        assert_eq!(score("tidy the door logs", &tidy), 0.8333);
        assert_eq!(score("archive", &tidy), 0.5, "the text");
        assert_eq!(score("Tidÿ LOG", &tidy), 1.0, "case, accents and the number");
        let long = "Our disk is full since the controller of the door writes far too many logs every night, so tidy them";
        assert!(score(long, &tidy) > 0.5, "the whole title is in it: {}", score(long, &tidy));
        assert_eq!(score("brew coffee", &tidy), 0.0);
    }

    #[test]
    fn scripts_are_counted_as_their_language_writes_them() {
        let korean = card("tidy", "로그 정리", "오래된 로그를 보관함으로 옮깁니다.");
        assert_eq!(score("로그를 정리해 줘", &korean), 1.0, "particles and endings");
        assert_eq!(score("날씨 알려", &korean), 0.0);
        let japanese = card("tidy", "ログの整理", "古いログを移します。");
        assert!(is_meant("ログを整理してください", &japanese) && !is_meant("天気はどうですか", &japanese));
        let german = card("tidy", "Protokolle aufräumen", "Verschiebt alte Protokolle.");
        assert!(is_meant("bitte die Protokolle aufräumen", &german) && !is_meant("bitte die Küche aufräumen", &german));
        let chinese = card("tidy", "整理日志", "把旧日志移到归档。");
        assert!(score("请帮我整理日志", &chinese) > 0.7, "{}", score("请帮我整理日志", &chinese));
        assert_eq!(score("天气怎么样", &chinese), 0.0);
    }

    #[test]
    fn the_reason_is_the_line_that_fits_best() {
        let tidy = card("tidy_logs", "Tidy the logs", "It tidies.\n\nOld files go to the archive.");
        assert_eq!(TellingWords::of("archive of files").reason(&tidy), "Old files go to the archive.");
        assert_eq!(TellingWords::of("tidy").reason(&tidy), "It tidies.");
        let long = card("x", "X", &"word ".repeat(30));
        assert_eq!(TellingWords::of("word").reason(&long), format!("{}…", "word ".repeat(24)));
    }
}
