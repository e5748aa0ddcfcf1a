"""How good a target is on decisions whose answers are known: asked, measured, shown. `python -m client evaluate`."""
