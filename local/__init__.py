"""The embedded default: a local AWS that runs the real builds and the real container, and the commands that drive it.
"""
