"""API keys, for owners: made, rotated and revoked; a secret is shown in the answer that made it and never again."""

from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.admin import ActionLocation, action, display
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from holdfast.kernel.clock import Now, database_now
from tenants.admin.base import BOTH_PAGES, OperationForm, TenantAdmin, badge
from tenants.admin.wall_time import WallTimeField, instant
from tenants.models import ApiKey, Scope
from tenants.operations.api_keys import create_api_key, revoke_api_key, rotate_api_key
from tenants.permissions import Action
from tenants.scope import current_tenant_id

ONCE = "This is the whole key. It is shown this once: keep it where your program finds it."
SCOPES = {
    Scope.READ: "read: look at everything but keys",
    Scope.EVENTS: "events: events and their units",
    Scope.HOLDS: "holds",
    Scope.ORDERS: "orders",
    Scope.TICKETS: "tickets",
    Scope.WEBHOOKS: "webhooks",
    Scope.ADMIN: "admin: everything, keys too",
}


class ApiKeyForm(OperationForm):
    """A new key."""

    name = forms.CharField(max_length=100, widget=UnfoldAdminTextInputWidget, help_text="Who will use it: “Web shop”.")
    scopes = forms.MultipleChoiceField(choices=list(SCOPES.items()), widget=UnfoldAdminCheckboxSelectMultipleWidget)
    expires_at = WallTimeField(required=False, label="Expires at (UTC)", help_text="Left empty, it does not expire.")

    class Meta:
        model = ApiKey
        fields = ["name", "scopes"]

    def clean_expires_at(self) -> datetime | None:
        wall = self.cleaned_data["expires_at"]
        expires_at = instant(wall, ZoneInfo("UTC")) if wall else None
        if expires_at and expires_at <= database_now():
            raise ValidationError("Must lie in the future.", code="past")
        return expires_at

    def carry_out(self, tenant_id: UUID) -> ApiKey:
        api_key, self.secret = create_api_key(tenant_id=tenant_id, **self.cleaned_data)
        return api_key


class ApiKeyAdmin(TenantAdmin):
    """Keys can't be changed: a new one is made, an old one revoked."""

    reading = writing = Action.MANAGE_TEAM
    form = ApiKeyForm
    icon = "key"
    list_display = ["name", "key", "scope_list", "state", "last_used_at", "expires_at", "created_at"]
    search_fields = ["name", "prefix"]
    ordering = ["-id"]
    actions = ["rotate", "revoke"]
    add_fieldsets = [(None, {"fields": ["name", "scopes", "expires_at"]})]
    fieldsets = [(None, {"fields": list_display})]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).annotate(now=Now())  # type: ignore[no-any-return]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="Key")
    def key(self, api_key: ApiKey) -> str:
        return f"hf_{api_key.prefix}_…"

    @display(description="Scopes")
    def scope_list(self, api_key: ApiKey) -> str:
        return ", ".join(api_key.scopes)

    @badge("State", {"active": "success", "expired": "warning", "revoked": "danger"})
    def state(self, api_key: Any) -> str:
        if api_key.revoked_at:
            return "revoked"
        return "expired" if api_key.expires_at and api_key.expires_at <= api_key.now else "active"

    @action(permissions=["add"], description="Revoke", location=BOTH_PAGES)
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for api_key in queryset:
            revoke_api_key(tenant_id=current_tenant_id(), api_key_id=api_key.id)
            self.log_change(request, api_key, "Revoked.")
            self.message_user(request, f"{api_key} is revoked; it is dead within 5 seconds.")

    @action(permissions=["add"], description="Rotate", location=ActionLocation.CHANGE_FORM)
    def rotate(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponse:
        api_key, secret = rotate_api_key(tenant_id=current_tenant_id(), api_key_id=queryset.get().id)
        self.log_change(request, api_key, "Rotated.")
        return self.secret_page(request, title=f"{api_key.name} has a new key", explanation=ONCE, secret=secret)

    def object_actions(self, request: HttpRequest, obj: Any) -> list[tuple[str, str]]:
        return [] if obj.revoked_at else super().object_actions(request, obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001
        obj.secret_once = form.secret

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self.secret_page(request, title=f"{obj.name} was made", explanation=ONCE, secret=obj.secret_once)
