"""Bands and rows: choosing them, predicting what they do, measuring what they did.

In: a user's request, or a database. Out: settings, constructions with predictions, measured recall.

    resolve    a request to the settings of a new or reindexed file
    choices    the constructions worth having for a threshold, a recall and a number of lanes
    analysis   a construction's curve, errors and candidates, before anything is indexed
    sampling   how similar the documents of a database are
    measuring  what the index finds, against brute force for a sample

Doors: analysis, choices, measuring, resolve, sampling.
"""
