-- In files that find reworded copies. The full-text table is made of a document's terms and has no
-- copy of them; the tables rare_words_data, _idx and _config are SQLite's own.
CREATE VIRTUAL TABLE rare_words USING fts5(
    word, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '_'"
);

-- The memory of the full-text table before a flush, in bytes, saves a quarter of the time of adding.
INSERT INTO rare_words (rare_words, rank) VALUES ('hashsize', 16777216);
