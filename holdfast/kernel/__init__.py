"""The bottom of the house: what two or more apps use, and that knows none of them."""
