"""Keeping fitted estimators and pipelines in model files."""

from relvec.persistence.files import load, save, self_test_error
from relvec.persistence.prepared import prepare

__all__ = ["load", "save", "self_test_error"]

prepare()
