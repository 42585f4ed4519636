"""What the formats share: opening, text, rows, tables, clocks, names of launchers and system UI."""
