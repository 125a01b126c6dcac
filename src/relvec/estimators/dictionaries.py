"""How the dictionary of an estimator's candidates is held."""

from dataclasses import replace
from typing import Any

from relvec.design import Budget, DesignMatrix, Dictionary, choose_design
from relvec.estimators.candidates import Candidates, check_top_down, fewer_candidates
from relvec.estimators.progress import logger
from relvec.estimators.training import Training
from relvec.parameters import as_bytes


def held_dictionary(
    model: Any, candidates: Candidates, training: Training
) -> tuple[Candidates, DesignMatrix]:
    """The candidates that fit into the budget of ``model``, and how they are held."""
    dictionary = Dictionary(
        basis=candidates.basis,
        rows=training.rows,
        sample_weight=training.weight,
        budget=Budget(as_bytes("memory_budget", model.memory_budget)),
        seed=training.seed,
        in_memory=training.in_memory,
    )
    if model._from_the_top:
        check_top_down(model._from_the_top, dictionary)
    choice = choose_design(model.design, dictionary)
    if choice is None:
        candidates = fewer_candidates(
            candidates, dictionary, by_rule=_may_choose_candidates(model)
        )
        logger.info("candidates: %d, as many as fit", len(candidates.basis))
        dictionary = replace(dictionary, basis=candidates.basis)
        choice = choose_design("streamed", dictionary)
        assert choice is not None
    logger.info("design: %s", choice.reason)
    return candidates, choice.design


def _may_choose_candidates(model: Any) -> bool:
    rule = isinstance(model.candidates, str) and model.candidates == "auto"
    return rule and not model._kernel_choice.selects_columns
