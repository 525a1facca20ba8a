"""What is remembered: which past evaluations count at time t, and the engines that do it."""
