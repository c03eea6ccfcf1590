from lakehouse_tests.assets.house import house, working_house

__all__ = ["house", "working_house"]
