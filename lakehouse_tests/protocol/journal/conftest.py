from lakehouse_tests.protocol.journal.kept import kept, kept_anywhere, kept_by_rest

__all__ = ["kept", "kept_anywhere", "kept_by_rest"]
