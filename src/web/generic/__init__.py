"""A page for every environment that has none of its own, made of what every `Game` can do."""
