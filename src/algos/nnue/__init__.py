"""A learned evaluation for the search of a game (NNUE, Nasu 2018).

It imports nothing here: processes that play games (`games`) need no torch.
"""
