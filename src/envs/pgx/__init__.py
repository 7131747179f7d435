"""Board games of pgx, which are compiled by JAX."""
