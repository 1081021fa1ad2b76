"""A read-only view of program text: line numbers, colours, marks on changed lines."""

from .json_view import JsonView


class CodeView(JsonView):
    """Payload: caption, file (offered for download, or null), reveal (scroll to the first mark), and lines: number | null, text,
    mark (null, "added", "removed"), error."""

    root = "code"
