"""What an index finds and costs: measured by brute force for a sample, or predicted from one.

In: a database. Out: recall, candidates and precision, beside what formulas say.

    methods, options, model  the method of `Database`; its options; results
    sampling, predictions    how similar documents are, and so how many candidates queries have
    cli      `lshdb measure`

Doors: predictions, sampling.
"""
