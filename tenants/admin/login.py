"""Who may log in: platform staff and members of a tenant; Django's `is_staff` says nothing here."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from tenants.admin.tenancy import has_a_tenant
from tenants.models import User


class LoginForm(AuthenticationForm):  # type: ignore[misc]
    """Login and password of a person who has something to see."""

    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        """Raises ValidationError for a login that is switched off or belongs to no tenant."""
        if not user.is_active:
            raise ValidationError(self.error_messages["inactive"], code="inactive")
        if not isinstance(user, User) or not has_a_tenant(user):
            raise ValidationError("This login belongs to no organizer: ask an owner to add it.", code="no_tenant")
