"""One module a format: NAME, `sniff` and `read`. Each knows one format and nothing of the others."""
