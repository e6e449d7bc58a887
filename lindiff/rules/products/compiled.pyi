"""Registers what carries out the rules; nothing here is called from Python."""
