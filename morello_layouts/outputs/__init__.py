"""What a map becomes: code, loops, kernels, pictures, text of another notation."""
