"""What the API shows, for the OpenAPI document and the catalogue of messages; `webhooks.queries` makes the JSON."""

from typing import Any

from rest_framework import serializers

from webhooks.models import DeliveryStatus, DisabledReason, EndpointStatus, ReplayedStatus, ReplayState
from webhooks.models.attempt import OUTCOMES


class EndpointShown(serializers.Serializer[Any]):
    """Where a tenant is told of facts, and of which."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField(), help_text="types, and patterns such as hold.*")
    description = serializers.CharField()
    status = serializers.ChoiceField(EndpointStatus.choices)
    disabled_reason = serializers.ChoiceField(
        DisabledReason.choices,
        allow_null=True,
        help_text="organizer: a person did it; gone: it answered 410; failing: nothing was delivered for days",
    )
    created_at = serializers.DateTimeField()
    last_success_at = serializers.DateTimeField(allow_null=True)
    failing_since = serializers.DateTimeField(allow_null=True, help_text="the first failure since the last success")
    disabled_at_latest = serializers.DateTimeField(
        allow_null=True, help_text="when it is disabled if it goes on failing; null once it is"
    )
    resting_until = serializers.DateTimeField(
        allow_null=True,
        help_text="nothing is sent before, and then one at a time until one arrives",
    )


class EndpointWithSecret(EndpointShown):
    """The endpoint, and its secret this once."""

    secret = serializers.CharField(allow_null=True, help_text="whsec_…; shown this once, and null in a replay")


class DeliveryShown(serializers.Serializer[Any]):
    """A message on its way to an endpoint."""

    id = serializers.UUIDField()
    endpoint = serializers.UUIDField()
    message = serializers.UUIDField()
    type = serializers.CharField()
    status = serializers.ChoiceField(DeliveryStatus.choices)
    attempts_made = serializers.IntegerField()
    next_attempt_at = serializers.DateTimeField(
        allow_null=True, help_text="null unless pending, while it is being sent, and while its endpoint is disabled"
    )
    created_at = serializers.DateTimeField()


class AttemptShown(serializers.Serializer[Any]):
    """One request, and what came of it."""

    at = serializers.DateTimeField()
    duration_ms = serializers.IntegerField(allow_null=True, help_text="null where HoldFast itself ended in between")
    outcome = serializers.ChoiceField([(outcome, outcome) for outcome in OUTCOMES])
    status_code = serializers.IntegerField(allow_null=True, help_text="null where there was no answer")
    response = serializers.CharField(help_text="the first 4 KiB of the answer's body")


class DeliveryWithAttempts(DeliveryShown):
    """The delivery, and all attempts to make it, the first one first."""

    attempts = AttemptShown(many=True)


class DeliveryBegunShown(serializers.Serializer[Any]):
    delivery = serializers.UUIDField()


class ReplayBegunShown(serializers.Serializer[Any]):
    replay = serializers.UUIDField()
    matched = serializers.IntegerField(help_text="how many messages there are to tell")


class ReplayShown(serializers.Serializer[Any]):
    """Messages of the past, told once more to one endpoint. Of those that were queued some are pending, delivered or
    dead by now, but for those that a later replay told again."""

    id = serializers.UUIDField()
    endpoint = serializers.UUIDField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    types = serializers.ListField(child=serializers.CharField())
    status = serializers.ChoiceField(ReplayedStatus.choices)
    state = serializers.ChoiceField(
        ReplayState.choices, help_text="stopped: the endpoint was disabled before all were queued"
    )
    matched = serializers.IntegerField()
    queued = serializers.IntegerField()
    pending = serializers.IntegerField()
    delivered = serializers.IntegerField()
    dead = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True, help_text="when all were queued")


class MessageTypeShown(serializers.Serializer[Any]):
    type = serializers.CharField()
    description = serializers.CharField(help_text="when it is said")
    schema = serializers.DictField()
    example = serializers.DictField()


class CatalogueShown(serializers.Serializer[Any]):
    data = MessageTypeShown(many=True)  # type: ignore[assignment]
