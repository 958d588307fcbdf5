"""Shared by commands: trajectories and recordings, of any program that writes ATIF, as people read them."""
