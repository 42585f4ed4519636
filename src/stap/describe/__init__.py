"""What a log says of people: counts, statistics, real people beside synthetic ones, figures."""
