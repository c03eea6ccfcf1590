from lakehouse_tests.journal.kept import kept

__all__ = ["kept"]
