"""What each head does to the model's answer."""
