"""Which messages a condition can be true of, as far as that shows before a frame is seen."""

from collections.abc import Mapping

from wiretool.codec.message import Side
from wiretool.filter.syntax import AnyOf, Comparison, Constant, Every, Node, Not, Operand, Path

#: A name that no message has: stands for those nobody has declared.
UNDECLARED = ""
#: What is known of a frame by its kind alone.
Known = Mapping[str, str]


def may_hold(node: Node | None, known: Known) -> bool:
    """Whether the condition may be true of a frame of which this is known."""
    return node is None or _truth(node, known) is not False


def known_of(protocol: str, side: Side, message: str) -> Known:
    """What is known of such a frame; rules act on frames only."""
    return {"kind": "frame", "protocol": protocol, "side": side, "message": message}


def _truth(node: Node, known: Known) -> bool | None:
    """True, False, or None where it hangs on the frame."""
    if isinstance(node, Not):
        part = _truth(node.part, known)
        return None if part is None else not part
    if isinstance(node, Every | AnyOf):
        parts = [_truth(part, known) for part in node.parts]
        decisive = isinstance(node, AnyOf)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    return _compared(node, known) if isinstance(node, Comparison) else None


def _compared(node: Comparison, known: Known) -> bool | None:
    path, constant = _path_and_constant(node)
    if path is None or constant is None or path.text not in known:
        return None
    value = known[path.text]
    if node.operator == "==":
        return bool(value == constant.value)
    if node.operator == "!=":
        return bool(value != constant.value)
    if node.operator == "in" and isinstance(constant.value, list):
        return value in constant.value
    return None


def _path_and_constant(node: Comparison) -> tuple[Path | None, Constant | None]:
    """The field and the value that are compared; None for both where it is no such comparison."""
    sides: tuple[Operand, Operand] = (node.left, node.right)
    if node.operator in ("==", "!=") and isinstance(sides[0], Constant):
        sides = (node.right, node.left)
    first, second = sides
    return (first, second) if isinstance(first, Path) and isinstance(second, Constant) else (None, None)
