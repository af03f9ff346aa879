"""What each machine adds: banks and lanes, a TPU's layouts, many devices."""
