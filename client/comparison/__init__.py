"""Several models, quantisations, readouts, prompt versions or endpoints on the same labelled decisions, in pairs."""
