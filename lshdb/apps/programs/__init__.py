"""Programs as tokens without names, whatever their language.

    families     the comments and strings of programs, by the marks that begin comments
    tokens       programs as tokens without names
    boilerplate  imports, licences and other parts of texts and programs that do not count
    kind         the kind of shingles `code:K`: runs of tokens, with boilerplate or without

Doors: boilerplate, families, tokens.
"""
