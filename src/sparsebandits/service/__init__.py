"""Learners that live on a server: a request that was answered survives, and is counted once."""
