//! The full-text index of a folder: SQLite's FTS5 in memory (language 9.25).

use rusqlite::{Connection, params};
use trellis_core::ToolError;

use super::{
    folder::{Document, Stamp},
    store_error,
};

/// Words of a query that count.
const MAX_WORDS: usize = 32;

/// The weight of a word in a title, against one in the text.
const TITLE: f64 = 4.0;

/// Documents by their words.
pub(super) struct Index {
    stamps: Vec<Stamp>,
    connection: Connection,
}

/// A document that a query found.
#[derive(Debug, PartialEq)]
pub(super) struct Hit {
    pub(super) path: String,
    pub(super) title: String,
    pub(super) snippet: String,
    /// Between 0 and 1, with four decimals.
    pub(super) score: f64,
}

impl Index {
    /// Indexes the documents that `read` makes of the files with these paths, which are sorted: rows have their order. A file without one is left out.
    pub(super) fn new(stamps: Vec<Stamp>, read: impl Fn(&str) -> Option<Document>) -> Result<Self, ToolError> {
        let documents = stamps.iter().filter_map(|stamp| Some((&*stamp.path, read(&stamp.path)?)));
        let connection = Self::filled(documents).map_err(|error| failed(&error))?;
        Ok(Self { stamps, connection })
    }

    fn filled<'p>(documents: impl Iterator<Item = (&'p str, Document)>) -> rusqlite::Result<Connection> {
        let mut connection = Connection::open_in_memory()?;
        let table = "create virtual table docs using fts5(path unindexed, title, text, tokenize = 'unicode61 remove_diacritics 2')";
        connection.execute_batch(table)?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare("insert into docs (path, title, text) values (?1, ?2, ?3)")?;
            for (path, Document { title, text }) in documents {
                insert.execute(params![path, title, text])?;
            }
        }
        transaction.commit()?;
        Ok(connection)
    }

    /// Returns whether its files are unchanged.
    pub(super) fn is_of(&self, stamps: &[Stamp]) -> bool {
        self.stamps == stamps
    }

    /// Returns the best documents for a query, best first; none for one without a word.
    pub(super) fn search(&self, query: &str, limit: u64) -> Result<Vec<Hit>, ToolError> {
        let Some(query) = expression(query) else { return Ok(Vec::new()) };
        let find = || {
            // Passages are cut for the best alone: to cut one costs more than to rank it.
            let mut best = self.connection.prepare_cached(
                "select rowid, -bm25(docs, 0, ?2, 1) as weight from docs where docs match ?1
                 order by round(weight / (weight + 1), 4) desc, rowid limit ?3",
            )?;
            let mut document = self
                .connection
                .prepare_cached("select path, title, snippet(docs, 2, '', '', '…', 24) from docs where docs match ?1 and rowid = ?2")?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let ranked = best.query_map(params![query, TITLE, limit], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?)))?;
            let ranked = ranked.collect::<rusqlite::Result<Vec<_>>>()?;
            let hits = ranked.into_iter().map(|(row, weight)| {
                let weight = weight.max(0.0);
                let score = (weight / (weight + 1.0) * 10_000.0).round() / 10_000.0;
                document
                    .query_row(params![query, row], |row| Ok(Hit { path: row.get(0)?, title: row.get(1)?, snippet: row.get(2)?, score }))
            });
            hits.collect::<rusqlite::Result<Vec<Hit>>>()
        };
        find().map_err(|error| failed(&error))
    }
}

/// A query as FTS5 takes it: each word literally or as the beginning of one, any of them.
fn expression(query: &str) -> Option<String> {
    let words = query.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).take(MAX_WORDS);
    let words: Vec<String> = words.map(|word| format!("\"{word}\" OR \"{word}\" *")).collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

fn failed(error: &rusqlite::Error) -> ToolError {
    store_error(format!("the documents cannot be searched: {error}"))
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("documents", &self.stamps.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, documents: &[(&str, &str, &str)]) -> Vec<String> {
        let documents = documents.iter().map(|(path, title, text)| (*path, Document { title: (*title).into(), text: (*text).into() }));
        let index = Index { stamps: Vec::new(), connection: Index::filled(documents).unwrap() };
        index.search(query, 5).unwrap().into_iter().map(|hit| hit.path).collect()
    }

    #[test]
    fn words_are_literal_or_beginnings_and_titles_weigh_more() {
        let documents = [
            ("a.md", "Lamps", "They give light."),
            ("b.md", "Desks", "Lamps stand on it. Café."),
            ("c.md", "보증", "보증이 두 해입니다."),
            ("d.md", "Chairs", "To sit."),
        ];
        assert_eq!(found("lam", &documents), ["a.md", "b.md"], "a beginning is found, and a title weighs more");
        assert_eq!(found("cafe", &documents), ["b.md"]);
        assert_eq!(found("보증", &documents), ["c.md"]);
        for nothing in ["", "\"", "*", "NEAR(", "🦀", "   "] {
            assert_eq!(found(nothing, &documents), Vec::<String>::new(), "{nothing:?}");
        }
        assert_eq!(found("sit AND nothing", &documents), ["d.md"], "operators are words");
        assert_eq!(found(&"sit ".repeat(300_000), &documents), ["d.md"]);
    }

    #[test]
    fn equal_scores_are_in_the_order_of_their_paths() {
        let documents = [("a", "y", "other"), ("b", "x", "word"), ("c", "x", "word")];
        assert_eq!(found("word", &documents), ["b", "c"]);
    }
}
