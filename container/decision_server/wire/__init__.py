"""One module a dialect: bytes to a typed request, a typed answer to bytes. Pure; knows no model and no Flask."""
