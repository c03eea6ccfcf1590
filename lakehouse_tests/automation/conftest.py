from lakehouse_tests.assets.house import house, working_house
from lakehouse_tests.automation.followed import instance
from lakehouse_tests.automation.marts import mart

__all__ = ["house", "instance", "mart", "working_house"]
