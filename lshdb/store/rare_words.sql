-- The index of rare words, in files that find reworded copies: the terms of each document, by
-- SQLite's full-text search. Its tables rare_words_data, _idx and _config are SQLite's own.
CREATE VIRTUAL TABLE rare_words USING fts5(
    word, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '_'"
);
