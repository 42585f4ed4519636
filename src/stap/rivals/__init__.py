"""Rivals of STAP with a fixed vocabulary, written anew from what is known of them: one module each."""
