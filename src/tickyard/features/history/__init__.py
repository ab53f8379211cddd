"""What a token cost, every five minutes: samples, and the candles folded from them."""
