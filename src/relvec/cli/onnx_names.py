"""Names of the inputs and outputs of an ONNX graph that another library has chosen."""

from typing import Any


def renamed(model: Any, inputs: list[str], outputs: list[str]) -> list[str]:
    """Give the graph these names, in their order; those that outputs came to have.

    An output that is called as an input is has a sign after its name.
    """
    graph = model.graph
    finals = []
    for name in outputs:
        free = name
        while free in inputs:
            free += "_"
        finals.append(free)
    old = [each.name for each in (*graph.input, *graph.output)]
    new = dict(zip(old, [*inputs, *finals], strict=True))
    for name in _values(graph) - new.keys():
        if name in {*inputs, *finals}:
            new[name] = f"inner {name}"
    _apply(graph, new)
    return finals


def _values(graph: Any) -> set[str]:
    constants = {each.name for each in graph.initializer}
    return constants | {name for node in graph.node for name in node.output}


def _apply(graph: Any, new: dict[str, str]) -> None:
    described = (graph.input, graph.output, graph.initializer, graph.value_info)
    for group in described:
        for each in group:
            each.name = new.get(each.name, each.name)
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new.get(name, name) for name in names]
