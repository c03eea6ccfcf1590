from lakehouse_tests.orchestration.assets.house import house, working_house

__all__ = ["house", "working_house"]
