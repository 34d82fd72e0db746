"""What the benchmarks share.

lab.py makes corpora and databases, runs jobs in turn and keeps their figures and aims; corpora.py
writes documents; engines.py runs lshdb and its peers behind one interface; tasks.py is what runs in
a separate process; figures.py and report.py turn runs into medians, verdicts and tables.
"""
