"""Complex numbers: real and imaginary part, angle."""
