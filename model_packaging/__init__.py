"""Turns a pinned declaration into a verified model archive. Stands alone: knows no other part of the project."""
