"""Search over everything that was recorded: `find.py` answers, `indexing.py` feeds the index."""
