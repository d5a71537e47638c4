"""The web process: refuses to serve when a runtime role could look over the wall between tenants."""

import os

from django.core.wsgi import get_wsgi_application

from holdfast.checks import unsafe_roles
from holdfast.embedded.deathsig import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holdfast.settings")
if os.environ.get("HOLDFAST_SUPERVISED") == "1":
    die_with_parent()
application = get_wsgi_application()
if faults := unsafe_roles():
    raise SystemExit(f"holdfast: refusing to serve: {'; '.join(faults)}")
