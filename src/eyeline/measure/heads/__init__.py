"""What is known of one head, from all that was measured."""
