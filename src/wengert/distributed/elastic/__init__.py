"""What a program says to the launcher that started it."""
