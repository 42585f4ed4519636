"""What the formats share: opening, text, rows, tables, clocks, dates in any language, names of system UI."""
