CREATE SCHEMA "NAME";
SET search_path = "NAME";
CREATE TABLE format (format bigint NOT NULL);
INSERT INTO format VALUES (1);
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
INSERT INTO sessions VALUES ('one', 'orders', 'f00dfeed', 3, 1790000000000, 1790000000003, 'orders/ask', 'waiting_for_input', 1790000000500);
INSERT INTO snapshots VALUES ('one', 2, '{"state":{"text":"ab"}}');
INSERT INTO records VALUES ('one', 1, '{"seq":1,"text":"b"}'), ('one', 2, '{"seq":2,"text":"c"}');
