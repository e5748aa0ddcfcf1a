"""The scoring adapter: decisions in, a probability for each option out, straight from the model's logits."""
