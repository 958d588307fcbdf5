"""What plugins are written against, as data that can be compared with an earlier release's."""

import ast
import dataclasses
import inspect
import typing

import terminus_core
from terminus_core import testing
from terminus_core.hook_rules import SPECS
from terminus_core.settings import AgentSettings, TrajectorySettings


def public_interface():
    """Names, hooks with their arguments, values with their fields, classes with their methods, settings."""
    classes = {name: value for name, value in _public(terminus_core) if inspect.isclass(value)}
    return {
        "names": sorted(terminus_core.__all__),
        "testing": sorted(testing.__all__),
        "hooks": {name: _parameters(spec) for name, spec in SPECS.items()},
        "values": {name: fields for name, value in classes.items() if (fields := _fields(value))},
        "methods": {name: methods for name, value in classes.items() if (methods := _methods(value))},
        "needed": {name: sorted(needed) for name, value in classes.items() if (needed := _needed(value))},
        "settings": {
            "agent": _model_fields(AgentSettings),
            "trajectory": _model_fields(TrajectorySettings),
        },
    }


def _public(module):
    return [(name, getattr(module, name)) for name in module.__all__]


def _fields(value):
    """Field → whether it has to be given."""
    if dataclasses.is_dataclass(value):
        missing = dataclasses.MISSING
        return {each.name: each.default is each.default_factory is missing for each in dataclasses.fields(value)}
    if typing.is_typeddict(value):
        return {name: name in value.__required_keys__ for name in value.__annotations__}
    return _model_fields(value) if hasattr(value, "model_fields") else {}


def _model_fields(model):
    return {name: field.is_required() for name, field in model.model_fields.items()}


def _methods(value):
    """Methods of its own, and properties and attributes of its own that its body names."""
    if dataclasses.is_dataclass(value) or hasattr(value, "model_fields") or issubclass(value, Exception | dict):
        return {}
    own = {name: member for name, member in vars(value).items() if not name.startswith("_")}
    found = {name: _parameters(member) for name, member in own.items() if inspect.isfunction(member)}
    found |= {name: {} for name, member in own.items() if isinstance(member, property)}
    return found | {name: {} for name in _attributes(value)}


def _attributes(value):
    """Public attributes that the constructor sets."""
    body = ast.parse(inspect.getsource(value))
    targets = [
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        for node in ast.walk(body)
        if isinstance(node, ast.Assign | ast.AnnAssign)
    ]
    mine = [each.attr for each in targets if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "self"]
    return sorted({name for name in mine if not name.startswith("_")})


def _parameters(function):
    """Parameter → whether it has to be given."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default is each.empty for each in parameters if each.name != "self"}


def _needed(value):
    """What a class that implements ``value`` has to bring: abstract methods, and attributes without a value."""
    if not getattr(value, "_is_protocol", False):
        return set()
    needed = {*value.__abstractmethods__, *vars(value).get("__annotations__", {})} - vars(value).keys()
    return {*value.__abstractmethods__, *needed}
