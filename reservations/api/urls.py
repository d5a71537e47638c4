from django.urls import path

from reservations.api import events, holds, units

urlpatterns = [
    path("events", events.Events.as_view()),
    path("events/<uuid:event_id>", events.OneEvent.as_view()),
    path("events/<uuid:event_id>/publish", events.PublishEvent.as_view()),
    path("events/<uuid:event_id>/pause", events.PauseEvent.as_view()),
    path("events/<uuid:event_id>/resume", events.ResumeEvent.as_view()),
    path("events/<uuid:event_id>/close", events.CloseEvent.as_view()),
    path("events/<uuid:event_id>/availability", events.EventAvailability.as_view()),
    path("events/<uuid:event_id>/units", units.Units.as_view()),
    path("events/<uuid:event_id>/units/block", units.BlockUnits.as_view()),
    path("events/<uuid:event_id>/units/unblock", units.UnblockUnits.as_view()),
    path("holds", holds.Holds.as_view()),
    path("holds/<uuid:hold_id>", holds.OneHold.as_view()),
    path("holds/<uuid:hold_id>/extend", holds.ExtendHold.as_view()),
    path("holds/<uuid:hold_id>/release", holds.ReleaseHold.as_view()),
]
