"""What the model's answer rests on."""
