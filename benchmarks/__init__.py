"""This project against its peers, in one run: `make bench`. Also a soak and a fuzz of the running server."""
