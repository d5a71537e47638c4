"""Who is asking, and the wall between them."""
