"""Keeping fitted estimators and pipelines in model files."""

from relvec.persistence.files import load, prepare, save, self_test_error

__all__ = ["load", "save", "self_test_error"]

prepare()
