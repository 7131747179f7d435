"""Web pages for the games in src/envs; they contain no game rules."""
