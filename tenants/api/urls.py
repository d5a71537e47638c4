from django.urls import path

from tenants.api.api_keys import ApiKeys, RevokeApiKey, RotateApiKey

urlpatterns = [
    path("api-keys", ApiKeys.as_view()),
    path("api-keys/<uuid:api_key_id>/revoke", RevokeApiKey.as_view()),
    path("api-keys/<uuid:api_key_id>/rotate", RotateApiKey.as_view()),
]
