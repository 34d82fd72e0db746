"""The text of PDF, Word, slides, spreadsheets, web pages, books and mail.

In: a file that a stranger made. Out: its text and metadata, or why there is none. All but `kinds`
and `text` is run by a process that imports neither numpy nor the rest of lshdb (but for
`read.encodings`), and may be killed at any time (see `apps.documents.reader`, which starts it):
a library is imported where a file needs it.

    kinds         the table of kinds: suffixes, first bytes, libraries
    text          pages to one text that is comparable with a text file
    guessing      the encoding of bytes that do not say it
    labels        bytes to text, as browsers read the labels of web pages and mail
    packages      ZIP files of parts, and XML
    pdf, office, opendocument, sheets, web, books, rtf, mail, notebooks    a function for each kind
    parts         the parts of a message: its text, and the names of the others
    process       the jobs of the process: one answer for each document
"""
