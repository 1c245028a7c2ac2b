"""What `gradcheck` compares."""
