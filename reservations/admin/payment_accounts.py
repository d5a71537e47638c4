"""Payment accounts, for owners: opened, disabled and enabled again; their secrets go in and never come out."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.admin import action, display
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminSelectWidget

from holdfast.kernel.errors import Conflict
from reservations.checkout.accounts import callback_url
from reservations.models import PaymentAccount, PaymentAccountStatus, Provider
from reservations.operations.payment_accounts import disable_account, enable_account, open_account
from tenants.admin.base import BOTH_PAGES, OperationForm, TenantAdmin, badge
from tenants.permissions import Action
from tenants.scope import current_tenant_id

PASTE_IT = "{account} is open: new payments go through it. Let it send its events to {url}"


def _secret(help_text: str) -> forms.CharField:
    """A field that is typed or pasted, and not shown again even where the form is."""
    widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "off"})
    return forms.CharField(max_length=255, required=False, widget=widget, help_text=help_text)


class PaymentAccountForm(OperationForm):
    """A new account; which secrets it takes depends on the provider."""

    provider = forms.ChoiceField(
        choices=Provider.choices,
        initial=Provider.STRIPE,
        widget=UnfoldAdminSelectWidget,
        help_text="Stripe takes money. Mock takes none: it is for trying things out, in development.",
    )
    secret_key = _secret(
        "Stripe's secret key, or better a restricted key that may write PaymentIntents and refunds: sk_… or rk_…"
    )
    webhook_secret = _secret(
        "The signing secret of a webhook endpoint at Stripe: whsec_… Make the endpoint there with any address, for the "
        "events of payment_intent, charge and refund; saved here, it gets the address that you are then shown."
    )

    class Meta:
        model = PaymentAccount
        fields = ["provider"]

    def carry_out(self, tenant_id: UUID) -> PaymentAccount:
        names = ("secret_key", "webhook_secret")
        credentials = {name: self.cleaned_data[name] for name in names if self.cleaned_data[name]}
        return open_account(tenant_id=tenant_id, provider=self.cleaned_data["provider"], credentials=credentials)


class PaymentAccountAdmin(TenantAdmin):
    """An account can't be changed or deleted: its payments are refunded through it. Another one takes its place."""

    reading = writing = Action.MANAGE_PAYMENTS
    form = PaymentAccountForm
    icon = "credit_card"
    list_display = ["name", "state", "address", "created_at"]
    ordering = ["-id"]
    actions = ["disable", "enable"]
    add_fieldsets = [(None, {"fields": ["provider", "secret_key", "webhook_secret"]})]
    fieldsets = [(None, {"fields": list_display})]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("credentials")  # type: ignore[no-any-return]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="Provider", ordering="provider")
    def name(self, account: PaymentAccount) -> str:
        return account.get_provider_display()

    @badge("State", {"enabled": "success", "disabled": "warning"}, ordering="status")
    def state(self, account: PaymentAccount) -> str:
        return account.status

    @display(description="Callback address")
    def address(self, account: PaymentAccount) -> str:
        return callback_url(account)

    @action(permissions=["add"], description="Disable", location=BOTH_PAGES)
    def disable(self, request: HttpRequest, queryset: QuerySet[PaymentAccount]) -> None:
        for account in queryset:
            disable_account(tenant_id=current_tenant_id(), account_id=account.id)
            self.log_change(request, account, "Disabled.")
            self.message_user(request, f"{account} is disabled: no new payment goes through it.")

    @action(permissions=["add"], description="Enable", location=BOTH_PAGES)
    def enable(self, request: HttpRequest, queryset: QuerySet[PaymentAccount]) -> None:
        """Raises Conflict for more than one, and what the operation refuses."""
        if len(queryset) > 1:
            raise Conflict("Select one: only one account is enabled at a time.")
        for account in queryset:
            enable_account(tenant_id=current_tenant_id(), account_id=account.id)
            self.log_change(request, account, "Enabled.")
            self.message_user(request, f"{account} is enabled: new payments go through it, and through no other.")

    def object_actions(self, request: HttpRequest, obj: Any) -> list[tuple[str, str]]:
        fitting = "disable" if obj.status == PaymentAccountStatus.ENABLED else "enable"
        return [(name, label) for name, label in super().object_actions(request, obj) if name == fitting]

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        self.message_user(request, PASTE_IT.format(account=obj, url=callback_url(obj)))
        return redirect("admin:reservations_paymentaccount_change", obj.pk)
