"""The embedded default: a local AWS that runs the real builds and the real container, and its commands."""
