"""From results to pages: figures, tables, one report."""
