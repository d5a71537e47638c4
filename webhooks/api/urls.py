from django.urls import path

from webhooks.api.messages import Messages, OneMessage

urlpatterns = [
    path("webhooks/messages", Messages.as_view()),
    path("webhooks/messages/<uuid:message_id>", OneMessage.as_view()),
]
