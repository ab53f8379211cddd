"""What happens, told as it happens: prices, rounds, candles, corporate actions."""
