"""Reads Spark's printed plan back into a tree.

A node's children are printed one step further in than itself. The plans of subqueries in its expressions are printed
two steps further in, before the children.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_STEP = 3
_LINE = re.compile(r"(?P<indent>(?:[ :] {2})*)[:+]- (?P<text>.*)", re.DOTALL)


@dataclass
class Node:
    """One operator.

    Attributes:
        text: as printed, without the drawing.
        children: what it works on.
        subqueries: plans of subqueries in its expressions.
    """

    text: str
    children: list["Node"] = field(default_factory=list["Node"])
    subqueries: list["Node"] = field(default_factory=list["Node"])

    @property
    def kind(self) -> str:
        """The operator's name."""
        return re.split(r"[^A-Za-z0-9]", self.text, maxsplit=1)[0]

    def walk(self) -> Iterator["Node"]:
        """This node and all below it."""
        yield self
        for child in (*self.subqueries, *self.children):
            yield from child.walk()


def parse_tree(text: str) -> Node:
    """Read a plan."""
    first, *lines = text.split("\n")
    root = Node(first)
    open_nodes = [(0, root)]
    for line in lines:
        drawn = _LINE.fullmatch(line)
        if drawn is None:  # a text in an expression has a line break
            open_nodes[-1][1].text += f"\n{line}"
            continue
        depth = len(drawn["indent"]) // _STEP + 1
        while len(open_nodes) > 1 and open_nodes[-1][0] >= depth:
            open_nodes.pop()
        above, parent = open_nodes[-1]
        node = Node(drawn["text"])
        (parent.children if depth == above + 1 else parent.subqueries).append(node)
        open_nodes.append((depth, node))
    return root
