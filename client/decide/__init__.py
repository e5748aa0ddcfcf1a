"""`python -m client decide`: a question from the command line or a file, its answers for people or for programs."""
