"""Documents by words in their contents, read one after another.

In: words. Out: the documents that have all of them.

    methods, model  the method of `Database`; its result
    statements   SQL that reads contents

Doors: model.
"""
