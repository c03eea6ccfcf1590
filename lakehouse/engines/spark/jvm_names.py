"""What Python has asked the JVM once about a class, it does not ask again.

PySpark asks for `functions`, and for the function in it, each time that a column is written down, and to answer that
the JVM looks through all of its JARs: a seventh of the CPU of a mirror's step on a classic driver.
"""

from typing import Any

from py4j.java_gateway import JavaClass, JavaGateway, JavaMember, JVMView
from typing_extensions import override


def remember_names(gateway: JavaGateway) -> None:
    """Have a gateway's view of its JVM remember classes and their methods."""
    gateway.jvm = _RememberedNames(gateway.jvm)


class _RememberedNames(JVMView):
    """The JVM's names. What is no class yet may become one, and is asked for again."""

    def __init__(self, view: JVMView) -> None:
        vars(self).update(vars(view))

    @override
    def __getattr__(self, name: str) -> Any:
        answer = super().__getattr__(name)
        if isinstance(answer, JavaClass):
            answer = vars(self)[name] = _RememberedClass(answer)
        return answer


# Its methods are asked for once; its fields may change. (`__doc__` of a JavaClass is Java's.)
class _RememberedClass(JavaClass):  # pyright: ignore[reportIncompatibleMethodOverride]
    def __init__(self, java_class: JavaClass) -> None:
        vars(self).update(vars(java_class))

    @override
    def __getattr__(self, name: str) -> Any:
        member = super().__getattr__(name)
        if isinstance(member, JavaMember):
            vars(self)[name] = member
        return member
