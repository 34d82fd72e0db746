"""From a text or a set to the hashes of its shingles.

In: a document's content, and the settings' shingling. Out: 64-bit shingle hashes, the stored form
of a document.

    arrays     where the items of an array begin; cutting it into parts
    boilerplate  imports, licences and other parts of texts and programs that do not count
    boundaries words as people see them, and where a text may be cut between them
    content    the stored form: clean text, or a set as JSON; its digest
    families   the comments and strings of programs, by the marks that begin comments
    folding    normalises text: NFKC, then case folding, frozen at Unicode 14.0; words in it
    hashing    constants from a seed; hashes of byte spans, whole arrays at a time
    line_ends  words that the ends of lines break, made whole for passages
    numbers    the numbers of a text, in order, as they are written
    positions  texts cut into words, characters or tokens, with their offsets; readable shingles
    programs   the tokens of programs, with boilerplate or without
    rare_words the words of texts that may be rare, and the windows that have them
    shingles   documents to shingle hashes, in blocks; distinct shingles
    shingling  the types of contents, and of the setting
    tokens     programs as tokens without names
    winnowing  the fingerprints of texts: texts that share a run of words share one

Doors: arrays, boundaries, content, folding, hashing, positions, shingles, shingling.
"""
