"""The `lakehouse` command as a process begins it; `python -m lakehouse` is the same."""

from lakehouse.garbage import uncollected


def main() -> None:
    """Import all verbs, and do what the arguments say."""
    with uncollected():
        from lakehouse.cli import app
    app()


if __name__ == "__main__":
    main()
