//! Ranking: how well skills fit a query, by the words of it that tell something (language 11.10).
//!
//! In: the texts of a query and of a card. Out: a score from 0 to 1. It depends on nothing but the two, so that a bound means the same in a folder of
//! two skills and of a thousand.
//!
//! **Example.** Of `tidy the door logs`, `the` says nothing. A skill `Tidy the logs` has two of three words in its title, and the query has the whole
//! title: (2/3 + 1) / 2 = 0.83.

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

/// Words of a `reason`.
const REASON_WORDS: usize = 24;

/// Words that say nothing about what is wanted.
const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "as",
    "at",
    "be",
    "been",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "doing",
    "done",
    "for",
    "from",
    "get",
    "give",
    "go",
    "had",
    "has",
    "have",
    "he",
    "hello",
    "help",
    "her",
    "here",
    "hey",
    "hi",
    "him",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "know",
    "let",
    "like",
    "make",
    "may",
    "me",
    "might",
    "more",
    "most",
    "must",
    "my",
    "need",
    "no",
    "not",
    "now",
    "of",
    "off",
    "on",
    "one",
    "or",
    "our",
    "out",
    "over",
    "please",
    "she",
    "should",
    "so",
    "some",
    "somebody",
    "someone",
    "something",
    "tell",
    "than",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "to",
    "too",
    "under",
    "up",
    "us",
    "very",
    "want",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "why",
    "will",
    "with",
    "would",
    "yes",
    "you",
    "your",
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
    "해주세요",
    "해줘",
];

/// The words of a query that tell something, each once.
#[derive(Debug)]
pub(super) struct TellingWords(Vec<String>);

impl TellingWords {
    pub(super) fn of(text: &str) -> Self {
        let mut telling = Vec::new();
        for word in words(text) {
            if telling.len() < MAX_QUERY_WORDS && !STOP_WORDS.contains(&&*word) && !telling.contains(&word) {
                telling.push(word);
            }
        }
        Self(telling)
    }

    /// Returns how well a card fits: the share of the query that it has, or the mean of that and the share of its title that the query has.
    pub(super) fn score(&self, card: &SkillCard) -> f64 {
        let named: Vec<String> = [&card.id, &card.title].into_iter().chain(&card.tags).flat_map(|text| words(text)).collect();
        let text = words(&card.text);
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
        let title = Self::of(&card.title).0;
        let met = title.iter().filter(|other| self.0.iter().any(|word| is_same(word, other))).count();
        let of_query = share(self.0.iter().map(weight).sum(), self.0.len());
        let of_title = share(count(met), title.len());
        (of_query.max((of_query + of_title) / 2.0) * 10_000.0).round() / 10_000.0
    }

    /// Returns the line of a card that has most of the words, cut to a few.
    pub(super) fn reason(&self, card: &SkillCard) -> String {
        let lines = card.text.lines().map(str::trim).filter(|line| !line.is_empty());
        let met = |line: &&str| {
            let line = words(line);
            self.0.iter().filter(|word| line.iter().any(|other| is_same(word, other))).count()
        };
        // Of several, the first: `max_by_key` has the last.
        let best = lines.rev().max_by_key(met).unwrap_or_default();
        let mut words = best.split_whitespace();
        let first: Vec<&str> = words.by_ref().take(REASON_WORDS).collect();
        first.join(" ") + if words.next().is_some() { " …" } else { "" }
    }
}

fn share(of: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { of / count(whole) }
}

fn count(of: usize) -> f64 {
    f64::from(u32::try_from(of).unwrap_or(u32::MAX))
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
        TellingWords::of(query).score(card)
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
