"""The statements of the paper, judged on instances."""
