"""`make mutants`: break the code on purpose, one small break at a time, and see whether a test notices.

Why a runner of our own: mutmut 3 leaves alone what is outside functions (our tables, limits and addresses) and keeps its
mutants in one process, where the processes that our tests start do not see them; cosmic-ray runs one command for every
mutant, whatever the line. Neither takes a seeded sample.
"""
