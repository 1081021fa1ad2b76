"""A read-only view of program text: line numbers, colours, marks on what changed."""

from .json_view import JsonView, module_text


class CodeView(JsonView):
    """Payload: caption, file (offered for download, or null), reveal (scroll to the first mark), and lines: number | null, text,
    mark (null, "added", "removed"), error."""

    _esm = module_text("code_view")
