"""The small breaks that one source file can suffer: a comparison, an operator, a constant, a condition, a statement.

What says nothing about behaviour is left alone: annotations, docstrings, messages of failures, log lines, invariants.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

OPERATORS: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
    ast.Pow: ("**", "*"),
}
OPPOSITES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
# Types and descriptions: mypy and the released description watch over these.
TYPE_WORDS: Final = {"Annotated", "Literal", "Meta", "TypeVar", "NewType", "Final", "cast"}
LOGS: Final = {"debug", "info", "warning", "error", "exception", "critical"}
# A word of the code: a state, a key, a name on the wire. What has a space in it is written for people.
WORD: Final = re.compile(r"(?!big$|little$)[A-Za-z0-9_.:/-]+")


@dataclass(frozen=True)
class Mutation:
    file: str
    line: int
    statement: int
    before: str
    after: str
    source: bytes
    name: str = ""
    """What the broken statement gives a value to or defines, if that is a name."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n    - {self.before}\n    + {self.after}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """The same break in a file that has moved on: line numbers change."""
        return self.file, self.before, self.after


def mutations(file: str, source: bytes) -> list[Mutation]:
    """Every break of this file, in the order of the text."""
    text = _Text(file, source)
    found = {(m.identity, m.line): m for m in _walk(ast.parse(source), text)}
    return sorted(found.values(), key=lambda m: (m.line, m.before, m.after))


class _Text:
    def __init__(self, file: str, source: bytes):
        self.file, self.source = file, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def of(self, node: ast.AST) -> str:
        begin, end = self.span(node)
        return self.source[begin:end].decode()

    def replaced(self, begin: int, end: int, new: str, statement: ast.stmt) -> Mutation:
        source = self.source[:begin] + new.encode() + self.source[end:]
        number = self.source.count(b"\n", 0, begin) + 1
        before = self.source.splitlines()[number - 1].decode().strip()
        after = source.splitlines()[number - 1].decode().strip()
        # A call over several lines runs as one: whoever runs its first line runs all of it.
        return Mutation(self.file, number, statement.lineno, before, after, source, _named(statement))


def _named(statement: ast.stmt) -> str:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        # A default of an argument.
        return statement.name
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def _walk(tree: ast.Module, text: _Text) -> Iterator[Mutation]:
    for statement in tree.body:
        yield from _statement(statement, text)


def _statement(node: ast.stmt, text: _Text) -> Iterator[Mutation]:
    if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal) or _is_silent(node):
        return
    yield from _broken_statement(node, text)
    for child in _looked_into(node):
        if isinstance(child, ast.stmt):
            yield from _statement(child, text)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            for inner in child.body:
                yield from _statement(inner, text)
        else:
            yield from _expression(child, node, text)


def _is_silent(node: ast.stmt) -> bool:
    """A docstring, a log line, or the names that a module offers."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
        return True
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in LOGS
    return isinstance(value, ast.Constant)


def _looked_into(node: ast.stmt) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None)
        yield from node.body
    elif isinstance(node, ast.ClassDef):
        yield from node.body
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield node.value
    else:
        yield from ast.iter_child_nodes(node)


def _broken_statement(node: ast.stmt, text: _Text) -> Iterator[Mutation]:
    begin, end = text.span(node)
    is_kept = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    if isinstance(node, ast.Raise) or is_kept or isinstance(node, ast.Expr):
        yield text.replaced(begin, end, "pass", node)
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield text.replaced(begin, end, "return None", node)
    elif isinstance(node, ast.Continue | ast.Break):
        yield text.replaced(begin, end, "break" if isinstance(node, ast.Continue) else "continue", node)
    elif isinstance(node, ast.If | ast.While):
        yield from _negated(node.test, node, text)
    elif isinstance(node, ast.AugAssign):
        yield from _operator(node.op, text.span(node.target)[1], text.span(node.value)[0], node, text)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _expression(node: ast.AST, statement: ast.stmt, text: _Text) -> Iterator[Mutation]:
    # The places of what is inside an f-string are not known before Python 3.12.
    if isinstance(node, ast.JoinedStr | ast.expr_context) or _is_type(node):
        return
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            yield from _operator(op, text.span(left)[1], text.span(right)[0], statement, text)
    elif isinstance(node, ast.BoolOp):
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from _operator(node.op, text.span(left)[1], text.span(right)[0], statement, text)
    elif isinstance(node, ast.BinOp) and not _is_text(node.left) and not _is_text(node.right):
        yield from _operator(node.op, text.span(node.left)[1], text.span(node.right)[0], statement, text)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield text.replaced(*text.span(node), text.of(node.operand), statement)
    elif isinstance(node, ast.Constant):
        yield from _constant(node, statement, text)
    elif isinstance(node, ast.IfExp):
        yield from _negated(node.test, statement, text)
    elif isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield from _negated(condition, statement, text)
    elif isinstance(node, ast.Name) and node.id in OPPOSITES:
        yield text.replaced(*text.span(node), OPPOSITES[node.id], statement)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.keyword) or child.arg != "description":
            yield from _expression(child, statement, text)


def _is_text(node: ast.expr) -> bool:
    """Texts can only be joined: any other sign stops the whole file, which says nothing about its tests."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_type(node: ast.AST) -> bool:
    named = node.value if isinstance(node, ast.Subscript) else node.func if isinstance(node, ast.Call) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and _is_none(node.right):
        return True
    return isinstance(named, ast.Name) and named.id in TYPE_WORDS


def _operator(op: ast.AST, begin: int, end: int, statement: ast.stmt, text: _Text) -> Iterator[Mutation]:
    """The sign stands somewhere between both sides, perhaps with brackets and a new line around it."""
    if type(op) in OPERATORS:
        old, new = OPERATORS[type(op)]
        place = text.source.find(old.encode(), begin, end)
        if place >= 0:
            yield text.replaced(place, place + len(old), new, statement)


def _negated(test: ast.expr, statement: ast.stmt, text: _Text) -> Iterator[Mutation]:
    # A comparison is broken by its own sign, and `not` by being left out.
    is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    if not is_not and not (isinstance(test, ast.Compare) and len(test.ops) == 1 and _has_opposite(test.ops[0])):
        yield text.replaced(*text.span(test), f"not ({text.of(test)})", statement)


def _has_opposite(op: ast.AST) -> bool:
    return isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)


def _constant(node: ast.Constant, statement: ast.stmt, text: _Text) -> Iterator[Mutation]:
    value = node.value
    if isinstance(value, bool):
        yield text.replaced(*text.span(node), str(not value), statement)
    elif isinstance(value, int):
        yield text.replaced(*text.span(node), f"({text.of(node)} + 1)", statement)
    elif isinstance(value, str) and WORD.fullmatch(value) and text.of(node)[-1] in "\"'":
        written = text.of(node)
        yield text.replaced(*text.span(node), f"{written[:-1]}X{written[-1]}", statement)
