"""What every page of a tenant's admin shares: permissions by role, writes by operations, buttons that post."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin import ActionLocation
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin
from unfold.decorators import display

from holdfast.kernel.errors import Conflict, Invalid, Refusal
from tenants.admin.tenancy import role_of
from tenants.permissions import Action, role_may
from tenants.scope import current_tenant_id, tenant_transaction

SELECTED_MAX = 5_000
BOTH_PAGES = [ActionLocation.CHANGE_LIST, ActionLocation.CHANGE_FORM]


def badge[F: Callable[..., Any]](
    description: str, colours: Mapping[str, str], ordering: str | None = None
) -> Callable[[F], F]:
    """A column whose text is shown as a label of the colour that unfold has for this word."""

    def marked(column: F) -> F:
        return cast("F", display(description=description, label=dict(colours), ordering=ordering)(column))

    return marked


class OperationForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form whose validation ends by carrying it out: once it is valid, it has been done.

    The operation runs in a savepoint of the view's transaction; what it refuses becomes errors of the form, and then
    nothing has changed.

    What was changed is judged by what the page showed, which it sends along: what another person changed meanwhile
    stays, and where both changed the same, the form is refused and says so.
    """

    data: QueryDict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = not self.is_new

    def full_clean(self) -> None:
        if self.is_bound and not self.is_new:
            self.data = self.data.copy()
            for name in self.fields:
                self.data.setdefault(self[name].html_initial_name, self._shown_now(name))
        super().full_clean()

    def _shown_now(self, name: str) -> str:
        """What the page would show of the field as the row is now."""
        field, initial = self.fields[name], self[name].initial
        return str(field.hidden_widget().format_value(field.prepare_value(initial)) or "")

    def written(self) -> set[str]:
        """The fields that the operation is given, or that say how those are read."""
        return set(self.changed_data)

    def _refuse_what_is_stale(self) -> None:
        """Sent once more, the form means what it is shown with now."""
        for name in sorted(self.written()):
            bound, now = self[name], self._shown_now(name)
            shown = self.data[bound.html_initial_name]
            wants_another = bound.field.disabled or bound.field.has_changed(bound.initial, bound.data)
            if shown != now and wants_another:
                self.add_error(
                    name, f"Somebody changed this meanwhile, from “{shown}” to “{now}”. Save again to go on."
                )
                self.data[bound.html_initial_name] = now

    @property
    def is_new(self) -> bool:
        """Whether the form makes a row, rather than changing one."""
        return bool(self.instance._state.adding)  # noqa: SLF001 - documented, if underscored

    def carry_out(self, tenant_id: UUID) -> Model:
        """Call the operation; answers the row as it is now. Raises Refusal."""
        raise NotImplementedError

    def _post_clean(self) -> None:
        # in place of Django's, which writes to the instance and judges it by the model: operations do both
        if not self.errors and not self.is_new:
            self._refuse_what_is_stale()
        if self.errors:
            return
        tenant_id = current_tenant_id()
        try:
            with tenant_transaction(tenant_id):
                self.instance = self.carry_out(tenant_id)
        except Invalid as refusal:
            for error in refusal.errors:
                name = error.place.removeprefix("/")
                self.add_error(name if name in self.fields else None, error.detail)
        except Refusal as refusal:
            self.add_error(None, refusal.detail)


class TenantAdmin(ModelAdmin):  # type: ignore[misc]
    """Rows of the tenant that the page is in. Roles decide who reads and who writes; Django's permissions don't."""

    reading: ClassVar[str] = Action.READ
    writing: ClassVar[str] = Action.MANAGE_EVENTS
    icon: ClassVar[str] = "circle"
    in_sidebar: ClassVar[bool] = True
    sidebar_title: ClassVar[str] = ""
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the whole list once more
    change_form_before_template = "admin/tenant_field.html"
    change_form_outer_before_template = "admin/object_actions.html"

    def more_in_sidebar(self, request: HttpRequest) -> list[dict[str, Any]]:
        """Entries below the list's own, as unfold has them, for a view of it that has a name."""
        return []

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return role_may(role_of(request), self.reading)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return role_may(role_of(request), self.writing)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return role_may(role_of(request), self.writing)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return role_may(role_of(request), self.writing)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001
        """Nothing is left to do: `OperationForm` has done it."""

    def get_deleted_objects(
        self, objs: Sequence[Any] | QuerySet[Any], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """What a deletion names; the operation says what stands in its way. Raises Conflict for too many."""
        named = [str(obj) for obj in objs[: SELECTED_MAX + 1]]
        self.refuse_too_many(len(named))
        return named, {str(self.opts.verbose_name_plural): len(named)}, set(), []

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only what the list's own filters ask; of the others, typed into an address, many fail in the database."""
        asked = {
            f"{entry}__exact" if isinstance(entry, str) else entry.parameter_name
            for entry in self.get_list_filter(request)
        }
        return lookup in asked

    def refuse_too_many(self, count: int) -> None:
        """Raises Conflict for a selection of more than SELECTED_MAX."""
        if count > SELECTED_MAX:
            raise Conflict(f"Select at most {SELECTED_MAX:,} at a time.")

    def get_action_choices(
        self,
        request: HttpRequest,
        default_choices: Any = None,
        action_location: ActionLocation = ActionLocation.CHANGE_LIST,
    ) -> list[tuple[str, str]]:
        # unfold's knows no locations yet
        return admin.ModelAdmin.get_action_choices(
            self, request, default_choices or [("", "Select action")], action_location
        )

    def object_actions(self, request: HttpRequest, obj: Any) -> list[tuple[str, str]]:
        """The buttons above a row's page: action and label."""
        choices = self.get_action_choices(request, action_location=ActionLocation.CHANGE_FORM)
        return [(name, label) for name, label in choices if name]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        context["show_save_and_add_another"] = False
        context["show_save_and_continue"] = obj is not None
        if obj is not None:
            context["object_actions"] = self.object_actions(request, obj)
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)  # type: ignore[no-any-return]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.full_result_count = changelist.result_count  # nobody asked how many there are without the filters
        return changelist

    def secret_page(self, request: HttpRequest, *, title: str, explanation: str, secret: str) -> HttpResponse:
        """A page that shows a secret this once: it is in no session, log or history."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "explanation": explanation,
            "secret": secret,
        }
        return TemplateResponse(request, "admin/secret_once.html", context)


class ReadOnlyAdmin(TenantAdmin):
    """Rows that operations alone make, change and remove."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
