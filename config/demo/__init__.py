"""Demo data: a few weeks in the life of three agents, the same for the same seed."""
