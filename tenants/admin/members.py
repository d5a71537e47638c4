"""Members, for owners: who may act for the tenant, and as what."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.admin import display
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from tenants.admin.base import OperationForm, TenantAdmin, badge
from tenants.models import Membership, Role, User
from tenants.operations.members import add_member, change_role, remove_member
from tenants.permissions import Action
from tenants.scope import current_tenant_id

ROLES = {
    Role.OWNER: "Owner: everything, with members and API keys",
    Role.MANAGER: "Manager: events, units and holds",
    Role.SUPPORT: "Support: looks, and releases holds",
    Role.SCANNER: "Scanner: checks tickets at the door",
    Role.VIEWER: "Viewer: looks",
}


class RoleForm(OperationForm):
    """What a member may do."""

    role = forms.ChoiceField(choices=list(ROLES.items()), widget=UnfoldAdminSelectWidget)

    class Meta:
        model = Membership
        fields = ["role"]

    def carry_out(self, tenant_id: UUID) -> Membership:
        return change_role(tenant_id=tenant_id, membership_id=self.instance.id, role=self.cleaned_data["role"])


class NewMemberForm(RoleForm):
    """A person, by login, and what they may do."""

    login = forms.CharField(
        max_length=User._meta.get_field("username").max_length,
        validators=[UnicodeUsernameValidator()],
        widget=UnfoldAdminTextInputWidget,
        help_text="Usually an e-mail address. A login that is new gets a password, which is shown to you once.",
    )
    field_order = ["login", "role"]

    def carry_out(self, tenant_id: UUID) -> Membership:
        membership, self.password = add_member(
            tenant_id=tenant_id,
            login=User.normalize_username(self.cleaned_data["login"]),
            role=self.cleaned_data["role"],
        )
        return membership


class MemberAdmin(TenantAdmin):
    """Adds, changes and ends memberships; a password is shown in the answer to the form that made it."""

    reading = writing = Action.MANAGE_TEAM
    icon = "group"
    sidebar_title = "Members"
    list_display = ["login", "role_badge", "created_at"]
    list_filter = ["role"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    ordering = ["user__username"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("user")  # type: ignore[no-any-return]

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> type[RoleForm]:
        return RoleForm if obj else NewMemberForm

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [(None, {"fields": ["role"] if obj else ["login", "role"]})]

    @display(description="Login", ordering="user__username")
    def login(self, membership: Membership) -> str:
        return str(membership.user)

    @badge("Role", {"owner": "primary", "manager": "info", "support": "success"}, ordering="role")
    def role_badge(self, membership: Membership) -> str:
        return membership.role

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        if obj.password_once is None:
            return super().response_add(request, obj, post_url_continue)  # type: ignore[no-any-return]
        return self.secret_page(
            request,
            title=f"{obj.user} was added",
            explanation="Give them this password: it is shown this once. They can change it after their first login.",
            secret=obj.password_once,
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001
        obj.password_once = getattr(form, "password", None)

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        remove_member(tenant_id=current_tenant_id(), membership_id=obj.id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        for membership in queryset:
            self.delete_model(request, membership)
