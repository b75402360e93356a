"""Pages for people: whether learners learn, what they know, and what would be if.

A page is a function from plain records to HTML. The records are computed by pure functions from
what there is to look at: the log of a service, a saved learner, the folder of a sweep.
"""
