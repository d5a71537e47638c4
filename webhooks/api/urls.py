from django.urls import path

from webhooks.api import catalogue, deliveries, endpoints, messages, replays

urlpatterns = [
    path("webhooks/catalogue", catalogue.Catalogue.as_view()),
    path("webhooks/messages", messages.Messages.as_view()),
    path("webhooks/messages/<uuid:message_id>", messages.OneMessage.as_view()),
    path("webhooks/endpoints", endpoints.Endpoints.as_view()),
    path("webhooks/endpoints/<uuid:endpoint_id>", endpoints.OneEndpoint.as_view()),
    path("webhooks/endpoints/<uuid:endpoint_id>/enable", endpoints.EnableEndpoint.as_view()),
    path("webhooks/endpoints/<uuid:endpoint_id>/disable", endpoints.DisableEndpoint.as_view()),
    path("webhooks/endpoints/<uuid:endpoint_id>/ping", endpoints.PingEndpoint.as_view()),
    path("webhooks/endpoints/<uuid:endpoint_id>/rotate-secret", endpoints.RotateSecret.as_view()),
    path("webhooks/endpoints/<uuid:endpoint_id>/replay", replays.ReplayEndpoint.as_view()),
    path("webhooks/deliveries", deliveries.Deliveries.as_view()),
    path("webhooks/deliveries/<uuid:delivery_id>", deliveries.OneDelivery.as_view()),
    path("webhooks/deliveries/<uuid:delivery_id>/retry", deliveries.RetryDelivery.as_view()),
    path("webhooks/replays/<uuid:replay_id>", replays.OneReplay.as_view()),
]
