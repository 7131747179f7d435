"""Run directories as an index: found, read, filtered and grouped; they may be damaged or untrusted."""
