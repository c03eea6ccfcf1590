from lakehouse_tests.orchestration.assets.house import house, working_house
from lakehouse_tests.orchestration.automation.followed import instance
from lakehouse_tests.orchestration.automation.marts import mart

__all__ = ["house", "instance", "mart", "working_house"]
