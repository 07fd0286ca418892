"""Finds the values of a template's parameters, which pragmas in the template may name."""

from __future__ import annotations

from typing import Any

from isthmus_emulation.estimate import libclang

_DEEPEST = 4
"""Most levels of base classes that are read."""


def constants(clang: Any, function: Any) -> dict[str, int]:
    """Returns the constants of a function of a template, for one of its instantiations.

    ``N`` of ``template <int N>``, and ``CONFIG_T::reuse_factor`` of ``template <class CONFIG_T>``.
    """
    template = clang.conf.lib.clang_getSpecializedCursorTemplate(function)
    if template is None:
        return {}
    wanted = {"TEMPLATE_TYPE_PARAMETER", "TEMPLATE_NON_TYPE_PARAMETER"}
    names = [c.spelling for c in template.get_children() if c.kind.name in wanted]
    values: dict[str, int] = {}
    for number, name in enumerate(names[: max(0, function.get_num_template_arguments())]):
        kind = function.get_template_argument_kind(number).name
        if kind == "INTEGRAL":
            values[name] = function.get_template_argument_value(number)
        elif kind == "TYPE":
            declared = function.get_template_argument_type(number).get_declaration()
            members = _members(clang, declared, 0)
            values |= {f"{name}::{member}": value for member, value in members.items()}
    return values


def _members(clang: Any, declared: Any, depth: int) -> dict[str, int]:
    """Returns the constants that a class and its base classes declare."""
    members: dict[str, int] = {}
    if declared is None or depth > _DEEPEST:
        return members
    for child in declared.get_children():
        kind = child.kind.name
        if kind == "CXX_BASE_SPECIFIER":
            members |= _members(clang, child.type.get_declaration(), depth + 1)
        elif kind == "VAR_DECL" and child.type.is_const_qualified():
            value = libclang.constant(clang, child)
            if value is not None:
                members[child.spelling] = value
        elif kind == "ENUM_DECL":
            members |= {c.spelling: c.enum_value for c in child.get_children()}
    return members
