"""What an index finds and costs, measured by brute force for a sample of the documents.

In: a database. Out: recall, candidates and precision, beside what formulas say.

    methods, options, model  the method of `Database`; its options; results
    cli      `lshdb measure`

Doors: .
"""
