"""The OpenAPI document of this server (contract 1.6): `document.py`, of a module a dialect."""
