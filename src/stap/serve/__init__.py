"""`stap serve`: a predictor that runs all day beside a person, over HTTP on the loopback alone. See app.py."""
