"""A database as tools of a language model: a server of the Model Context Protocol.

In: messages of a client over standard input. Out: an answer to each request over standard output.
Needs the extra `mcp`.

    server      the server: its tools, its resources, and its description of itself
    tools       the tools: from checked arguments to a line and a result
    arguments   values from a client to the arguments of a tool: null, numbers as keys, names
    answers     results in short, free of control characters; the same as text and as JSON
    protocol    lines of JSON to messages and back; answers invalid lines, too

Doors: server.
"""
