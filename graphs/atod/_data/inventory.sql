create table articles (article text primary key, price integer not null, stock integer not null);
insert into articles (article, price, stock) values
    ('armchair', 240, 3),
    ('bed frame', 380, 2),
    ('bookshelf', 120, 9),
    ('ceiling lamp', 75, 0),
    ('coat rack', 45, 14),
    ('cushion', 15, 60),
    ('desk', 210, 5),
    ('desk lamp', 35, 12),
    ('dining table', 420, 1),
    ('mirror', 60, 7),
    ('red chair', 90, 4),
    ('rug', 130, 6);
