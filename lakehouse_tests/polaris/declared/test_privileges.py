"""Privileges: each where Polaris has it, and none in a task that deletes or manages."""

from lakehouse.polaris.declared.privileges import PRIVILEGES, TASKS, problem_of_privilege


def test_a_privilege_at_another_level_is_named_with_its_own() -> None:
    assert problem_of_privilege("table", "TABLE_ADD_SNAPSHOT") is None
    assert problem_of_privilege("table", "TABLE_CREATE") == (
        "TABLE_CREATE is a privilege on a catalog or a namespace, not on a table"
    )
    assert problem_of_privilege("catalog", "TABLE_READ") == "Polaris has no privilege TABLE_READ"


def test_no_task_may_drop_manage_or_change_a_policy() -> None:
    for privileges in TASKS.values():
        assert privileges <= PRIVILEGES["namespace"]
        assert not [
            privilege
            for privilege in privileges
            if "DROP" in privilege or "MANAGE" in privilege or "POLICY" in privilege or "FULL" in privilege
        ]


def test_a_reader_writes_nothing() -> None:
    assert not [
        privilege
        for privilege in TASKS["reader"]
        if "WRITE" in privilege or "CREATE" in privilege or "ADD" in privilege or "SET" in privilege
    ]
