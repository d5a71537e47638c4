"""A person who signs in to the admin. Which tenants they may act for is in their memberships."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """An organizer, or platform staff when `is_superuser`. Users are global; memberships are of a tenant.

    Whoever adds a new login is shown its first password: until the person has changed it, they get no other page.
    """

    must_change_password = models.BooleanField(default=False, db_default=False, editable=False)
