"""The HTTP surface of tenants, and the view that every app's API views build on."""
