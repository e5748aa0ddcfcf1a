"""One temperature for each type of question: fitted on labelled decisions, kept where it helps decisions unseen."""
