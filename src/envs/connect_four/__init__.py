"""Connect Four: drop stones into columns until four are in a line."""
