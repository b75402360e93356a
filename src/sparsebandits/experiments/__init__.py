"""The rerun of the paper: one file per figure, and every claim with a verdict."""
