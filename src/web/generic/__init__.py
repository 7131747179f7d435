"""The page of environments that have no page of their own."""
