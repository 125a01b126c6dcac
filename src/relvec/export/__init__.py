"""Models for elsewhere: ONNX, C99 and plain Python."""

from relvec.export.converters import register_converters
from relvec.export.expressions import ExportError
from relvec.export.writing import to_c, to_onnx, to_python

__all__ = ["ExportError", "register_converters", "to_c", "to_onnx", "to_python"]
