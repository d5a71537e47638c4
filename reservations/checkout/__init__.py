"""From a hold to an order, money and tickets: the saga, its provider, and what puts things right afterwards."""
