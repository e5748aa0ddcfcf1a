"""Pages that need nothing but themselves: one HTML file with its style and its plots inside, and no script."""
