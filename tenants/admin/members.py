"""Members, for owners: who may act for the tenant, and as what; and who is invited."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.admin import display
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from holdfast.kernel.clock import Now
from tenants.admin.base import OperationForm, TenantAdmin, badge
from tenants.models import Membership, Role, User
from tenants.operations.members import add_member, change_role, remove_member
from tenants.permissions import Action
from tenants.scope import current_tenant_id

ROLES = {
    Role.OWNER: "Owner: everything, with members and API keys",
    Role.MANAGER: "Manager: events, units, holds, orders and webhooks",
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
        help_text="Usually an e-mail address. You are shown once what the person needs: a password where the login is "
        "new, else a code by which they join.",
    )
    field_order = ["login", "role"]

    def carry_out(self, tenant_id: UUID) -> Membership:
        membership, self.secret = add_member(
            tenant_id=tenant_id,
            login=User.normalize_username(self.cleaned_data["login"]),
            role=self.cleaned_data["role"],
        )
        return membership


WELCOME = "Give them this password: it is shown this once. They have to change it when they first log in."
INVITATION = (
    "This login was there, and its person has yet to say yes. Give them this code, by a way on which you know them: "
    "it is shown this once and good for seven days. They log in and enter it under “Join an organizer”."
)


class MemberAdmin(TenantAdmin):
    """Adds, changes and ends memberships; a secret is shown in the answer to the form that made it."""

    reading = writing = Action.MANAGE_TEAM
    icon = "group"
    sidebar_title = "Members"
    list_display = ["login", "role_badge", "state", "created_at"]
    list_filter = ["role"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    ordering = ["user__username"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("user").annotate(now=Now())  # type: ignore[no-any-return]

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> type[RoleForm]:
        return RoleForm if obj else NewMemberForm

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [(None, {"fields": ["role"] if obj else ["login", "role"]})]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context = {"title": self.sidebar_title, **(extra_context or {})}
        return super().changelist_view(request, context)  # type: ignore[no-any-return]

    @display(description="Login", ordering="user__username")
    def login(self, membership: Membership) -> str:
        return str(membership.user)

    @badge("Role", {"owner": "primary", "manager": "info", "support": "success"}, ordering="role")
    def role_badge(self, membership: Membership) -> str:
        return membership.role

    @badge("State", {"member": "success", "invited": "info", "invitation over": "warning"})
    def state(self, membership: Any) -> str:
        if not membership.is_invited:
            return "member"
        return "invited" if membership.join_code_expires_at > membership.now else "invitation over"

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self.secret_page(
            request,
            title=f"{obj.user} is invited" if obj.is_invited else f"{obj.user} was added",
            explanation=INVITATION if obj.is_invited else WELCOME,
            secret=obj.secret_once,
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001
        obj.secret_once = getattr(form, "secret", "")

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        remove_member(tenant_id=current_tenant_id(), membership_id=obj.id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        for membership in queryset:
            self.delete_model(request, membership)
