"""The paper rerun: its figures, its claims with verdicts, the report."""
