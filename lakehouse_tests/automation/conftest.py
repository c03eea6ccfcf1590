from lakehouse_tests.assets.house import house, working_house
from lakehouse_tests.automation.marts import mart

__all__ = ["house", "mart", "working_house"]
