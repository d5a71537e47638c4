"""Times as `tenants.admin.wall_time.shown` has them, the zone always with them: events are in zones of their own."""

DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i T"
