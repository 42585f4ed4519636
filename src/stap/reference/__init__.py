"""Written to be read: nothing ships by it, and tests hold the engine to it."""
