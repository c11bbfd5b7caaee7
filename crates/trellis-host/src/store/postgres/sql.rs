//! The statements for a PostgreSQL: one for each operation, so that each sees one moment and happens whole.

/// $1 session, $2 expected, $3 graph, $4 program, $5 next, $6 began, $7 at, $8 node, $9 standing, $10 due, $11 records, $12 snapshot.
pub(super) const BEGIN_APPEND: &str = concat!(
    "WITH moved AS (INSERT INTO sessions (session, graph, program, next, began, at, node, standing, due)
        VALUES ($1, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (session) DO NOTHING RETURNING session), ",
    "kept AS (INSERT INTO records (session, seq, text)
        SELECT moved.session, $2::bigint + row.n - 1, row.text FROM moved, unnest($11::text[]) WITH ORDINALITY AS row (text, n)),
    held AS (INSERT INTO snapshots (session, next, text) SELECT session, $5, $12::text FROM moved WHERE $12::text IS NOT NULL
        ON CONFLICT (session) DO UPDATE SET next = excluded.next, text = excluded.text)
    SELECT count(*) FROM moved"
);

/// As [`BEGIN_APPEND`]. A writer that waited for another one reads `next` again.
pub(super) const APPEND: &str = concat!(
    "WITH moved AS (UPDATE sessions SET graph = $3, program = $4, next = $5, began = $6, at = $7, node = $8, standing = $9, due = $10
        WHERE session = $1 AND next = $2::bigint RETURNING session), ",
    "kept AS (INSERT INTO records (session, seq, text)
        SELECT moved.session, $2::bigint + row.n - 1, row.text FROM moved, unnest($11::text[]) WITH ORDINALITY AS row (text, n)),
    held AS (INSERT INTO snapshots (session, next, text) SELECT session, $5, $12::text FROM moved WHERE $12::text IS NOT NULL
        ON CONFLICT (session) DO UPDATE SET next = excluded.next, text = excluded.text)
    SELECT count(*) FROM moved"
);

/// $1 session.
pub(super) const NEXT: &str = "SELECT next FROM sessions WHERE session = $1";

/// $1 sessions.
pub(super) const LOAD: &str = "SELECT s.session, s.graph, s.program, s.next, s.began, s.at, s.node, s.standing, s.due,
        held.next, held.text, row.seqs, row.texts
    FROM sessions s LEFT JOIN snapshots held USING (session) CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(seq ORDER BY seq), '{}') AS seqs, coalesce(array_agg(text ORDER BY seq), '{}') AS texts
        FROM records WHERE session = s.session AND seq >= coalesce(held.next, 0)) AS row
    WHERE s.session = ANY ($1)";

/// $1 session, $2 from, $3 limit.
pub(super) const SELECT_RECORDS: &str = "SELECT seq, text FROM records WHERE session = $1 AND seq >= $2 ORDER BY seq LIMIT $3";

/// $1, $2 behind this place, $3 limit; of one graph: $4.
pub(super) const SELECT_NEWEST: [&str; 2] = [
    "SELECT session, graph, program, next, began, at, node, standing, due FROM sessions
        WHERE (-at, session) > ($1::bigint, $2::text) ORDER BY -at, session LIMIT $3",
    "SELECT session, graph, program, next, began, at, node, standing, due FROM sessions
        WHERE graph = $4 AND (-at, session) > ($1::bigint, $2::text) ORDER BY -at, session LIMIT $3",
];

/// $1, $2 behind this place, $3 limit, $4 until when; of one graph: $5.
pub(super) const SELECT_DUE: [&str; 2] = [
    "SELECT session, graph, program, next, began, at, node, standing, due FROM sessions
        WHERE due <= $4 AND (due, session) > ($1::bigint, $2::text) ORDER BY due, session LIMIT $3",
    "SELECT session, graph, program, next, began, at, node, standing, due FROM sessions
        WHERE graph = $5 AND due <= $4 AND (due, session) > ($1::bigint, $2::text) ORDER BY due, session LIMIT $3",
];

/// $1 session, $2 expected.
pub(super) const REMOVE: &str = "WITH gone AS (DELETE FROM sessions WHERE session = $1 AND next = $2 RETURNING session),
    records AS (DELETE FROM records USING gone WHERE records.session = gone.session),
    snapshots AS (DELETE FROM snapshots USING gone WHERE snapshots.session = gone.session)
    SELECT count(*) FROM gone";

/// $1 session, $2 before.
pub(super) const PRUNE: &str = "DELETE FROM records
    WHERE session = $1 AND seq < least($2, coalesce((SELECT next FROM snapshots WHERE session = $1), 0))";
