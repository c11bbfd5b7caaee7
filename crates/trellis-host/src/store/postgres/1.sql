-- The tables of format 1. Names of sessions are in the order of their bytes.
CREATE TABLE sessions (
    session text COLLATE "C" PRIMARY KEY,
    graph text NOT NULL,
    program text NOT NULL,
    next bigint NOT NULL,
    began bigint NOT NULL,
    at bigint NOT NULL,
    node text NOT NULL,
    standing text NOT NULL,
    due bigint
);
CREATE INDEX newest ON sessions ((-at), session);
CREATE INDEX due ON sessions (due, session) WHERE due IS NOT NULL;
-- Apart from the sessions: each step rewrites the row of its session.
CREATE TABLE snapshots (
    session text COLLATE "C" PRIMARY KEY,
    next bigint NOT NULL,
    text text NOT NULL
);
CREATE TABLE records (
    session text COLLATE "C",
    seq bigint,
    text text NOT NULL,
    PRIMARY KEY (session, seq)
);
