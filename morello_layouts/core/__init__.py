"""The idea itself: steps, expressions, maps, and what all rooms stand on."""
