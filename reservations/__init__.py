"""Scarce things and the promises made of them."""
