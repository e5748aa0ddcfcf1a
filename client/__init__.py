"""What a caller runs: `python -m client`."""
