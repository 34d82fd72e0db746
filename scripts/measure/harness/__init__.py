"""What the benchmarks share.

lab.py makes corpora and databases, runs functions in turn and keeps figures; corpora.py writes
documents; engines.py runs lshdb and its peers behind one interface; tasks.py is what runs in a
separate process; figures.py and report.py turn runs into medians and tables.
"""
