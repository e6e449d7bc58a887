"""Registers what Variables do when they are operated on; nothing here is called from Python."""
