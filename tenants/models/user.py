"""A person who signs in to the admin. Which tenants they may act for is in their memberships."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """An organizer, or platform staff when `is_superuser`. Users are global; memberships are of a tenant."""
