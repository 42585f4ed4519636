"""The addresses of the HTTP interface, a module for each kind."""
