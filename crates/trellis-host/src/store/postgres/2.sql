-- Format 2: lists of one graph cost what they show, also where there are many graphs.
CREATE INDEX newest_of_graph ON sessions (graph, (-at), session);
CREATE INDEX due_of_graph ON sessions (graph, due, session) WHERE due IS NOT NULL;
