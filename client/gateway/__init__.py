"""A server on loopback that signs what it is asked with the caller's AWS credentials and passes it on."""
