"""How much of a value a person is shown."""

LONGEST = 60  # characters of an example


def short_text(text: str | None, longest: int = LONGEST) -> str:
    """A text of limited length; one that was longer ends in an ellipsis."""
    if text is None:
        return "null"
    return text if len(text) <= longest else f"{text[:longest]}…"
