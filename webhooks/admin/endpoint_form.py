"""The form of an endpoint: where it listens, to what, and what for."""

from uuid import UUID

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from tenants.admin.base import OperationForm
from tenants.admin.fields import TextField
from webhooks.admin.patterns import PatternsField
from webhooks.models import Endpoint
from webhooks.operations.endpoints import change_endpoint, create_endpoint


class EndpointForm(OperationForm):
    """A new endpoint gets a secret; it is in `secret`, to be shown once."""

    url = forms.CharField(
        label="URL",
        max_length=Endpoint.URL_LENGTH_MAX,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "url", "autocomplete": "off"}),
        help_text="https, on a public address.",
    )
    events = PatternsField(label="What it is told", error_messages={"required": "Tick at least one."})
    description = TextField(
        max_length=Endpoint.DESCRIPTION_LENGTH_MAX, required=False, help_text="Who listens there: “Web shop”."
    )

    class Meta:
        model = Endpoint
        fields = ["url", "events", "description"]

    def carry_out(self, tenant_id: UUID) -> Endpoint:
        if self.is_new:
            endpoint, self.secret = create_endpoint(tenant_id=tenant_id, **self.cleaned_data)
            return endpoint
        changes = {name: self.cleaned_data[name] for name in self.changed_data}
        return change_endpoint(tenant_id=tenant_id, endpoint_id=self.instance.id, **changes)
