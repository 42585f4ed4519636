"""Being here puts this folder on the path, so that tests in every folder below can say `from shared import ...`."""
