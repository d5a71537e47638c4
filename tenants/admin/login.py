"""Who may log in, and what they do for their own login: a password, and joining a tenant that invited them.

Platform staff and members of a tenant log in, and those who are invited; Django's `is_staff` says nothing here.
"""

from typing import Any

from django import forms
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm
from unfold.widgets import UnfoldAdminTextInputWidget

from tenants.admin.tenancy import has_a_tenant
from tenants.models import User


class LoginForm(AuthenticationForm):  # type: ignore[misc]
    """Login and password of a person who has something to see."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "Login"

    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        """Raises ValidationError for a login that is switched off or belongs to no tenant."""
        if not user.is_active:
            raise ValidationError(self.error_messages["inactive"], code="inactive")
        if not isinstance(user, User) or not has_a_tenant(user):
            raise ValidationError("This login belongs to no organizer: ask an owner to add it.", code="no_tenant")


class PasswordForm(AdminOwnPasswordChangeForm):  # type: ignore[misc]
    """A password that nobody else was shown."""

    def clean_new_password1(self) -> str:
        password: str = self.cleaned_data["new_password1"]
        if self.user.check_password(password):
            raise ValidationError("That is the password you have: choose another.", code="same")
        return password

    def save(self, commit: bool = True) -> Any:  # noqa: FBT001, FBT002
        self.user.must_change_password = False
        return super().save(commit)


class JoinForm(forms.Form):
    """The code of an invitation."""

    code = forms.CharField(
        max_length=100,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="An owner of the organizer was shown it when they added you. It is good for seven days, once.",
    )
