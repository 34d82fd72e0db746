"""A database as tools of a language model: a server of the Model Context Protocol.

In: messages of a client over standard input. Out: an answer to each request over standard output.
Needs the extra `mcp`.

    server      the server: which tools and resources there are, and what it says of itself
    tools       what each tool does, from its checked arguments to a line and a result
    arguments   what a client sends to the arguments of a tool: null, numbers as keys, names
    answers     results in short, free of control characters; the same as text and as JSON
    messages    lines of JSON to messages and back: what is no message is answered, too

Doors: server.
"""
