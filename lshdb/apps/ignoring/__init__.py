"""Which files of directories git, ignore files and the user's patterns leave out.

In: the entries of a walk. Out: why one is left out.

    rules  git's answers and patterns, for one directory of a walk (`offers.RULES`)
    git    runs git, without any program that a repository names

Doors: git, rules.
"""
