"""How many small faults in the code do the fast tests detect?"""
