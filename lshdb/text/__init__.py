"""From a text or a set to the hashes of its shingles.

In: a document's content, and the settings' shingling. Out: 64-bit shingle hashes, the stored form
of a document.

    content    the stored form: clean text, or a set as JSON; its digest
    shingling  the types of contents, and of the setting
    kinds      the door of an app that cuts texts in its own way, as into tokens of programs
    shingles   documents to shingle hashes, in blocks; distinct shingles
    folding    normalises text: NFKC, then case folding, frozen at Unicode 14.0; words in it
    hashing    constants from a seed; hashes of byte spans, whole arrays at a time
    arrays     where the items of an array begin; cutting it into parts

Doors: arrays, content, folding, hashing, kinds, shingles, shingling.
"""
