"""One model on one labelled set by every readout, calibrated or not: which one is right for it (`make evaluate`)."""
