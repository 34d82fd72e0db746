"""A database as tools of a language model: a server of the Model Context Protocol.

In: messages of a client over standard input. Out: an answer to each request over standard output.
Needs the extra `mcp`.

    server      the SDK's server with our tools and resources, and its description of itself
    tools       the tools: from typed arguments to a line and a result; statements, their SQL
    answers     results in short, free of control characters; the same as text and as JSON

Doors: .
"""
