"""Fitting as a function: a specification and rows in, a fitted model out."""

from relvec.modelling.accumulation import Accumulated
from relvec.modelling.advice import has_width
from relvec.modelling.calibration import calibrated, checked_by_folds, checked_fit
from relvec.modelling.candidates import (
    AT_ROWS,
    AtRows,
    Candidates,
    Centres,
    Given,
    InColumns,
    OnRows,
)
from relvec.modelling.coupling import (
    ONE_AGAINST,
    OneAgainstOne,
    coupling_for,
    is_one_against,
)
from relvec.modelling.families import (
    SINGLE_MODELS,
    Family,
    Mrvm1,
    OneTarget,
    Regression,
    RobustRegression,
    Scheme,
    SeveralOutputs,
    Softmax,
    StudentT,
    class_family,
    own_solver,
    regression_family,
)
from relvec.modelling.fit import (
    fit,
    fit_accumulated,
    fit_candidates,
    fit_problem,
    fit_with_learned,
    maximised,
)
from relvec.modelling.fitted import (
    Beginning,
    FittedModel,
    KnownFunctions,
    Learned,
    PartitionSummary,
    latent_of,
)
from relvec.modelling.independent import IndependentModel
from relvec.modelling.leave_one_out import equal_pairs, judged
from relvec.modelling.lost_classes import remark_on_lost_classes
from relvec.modelling.monitor import Monitor, heard, logged, logger, silent
from relvec.modelling.noise_model import NoiseModel
from relvec.modelling.outputs import OUTPUTS, Targets, has_prior
from relvec.modelling.pairwise import Fit, PairwiseModel, fit_pairwise
from relvec.modelling.predictive import (
    ClassDistribution,
    TargetDistribution,
    variance_factor,
)
from relvec.modelling.residuals import LEVEL, Calibration, Residuals
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import (
    Features,
    Sample,
    Spread,
    TrainingRows,
    check_magnitude,
    features_of,
    in_arrays,
    in_blocks,
    targets_of,
)
from relvec.modelling.training_set import TrainingSet
from relvec.modelling.trial_rows import known_places, trial_rows
from relvec.modelling.varying_noise import fit_varying_noise

__all__ = [
    "AT_ROWS",
    "LEVEL",
    "ONE_AGAINST",
    "OUTPUTS",
    "SINGLE_MODELS",
    "Accumulated",
    "AtRows",
    "Beginning",
    "Calibration",
    "Candidates",
    "Centres",
    "ClassDistribution",
    "Family",
    "Features",
    "Fit",
    "FittedModel",
    "Given",
    "InColumns",
    "IndependentModel",
    "KnownFunctions",
    "Learned",
    "Monitor",
    "Mrvm1",
    "NoiseModel",
    "OnRows",
    "OneAgainstOne",
    "OneTarget",
    "PairwiseModel",
    "PartitionSummary",
    "Regression",
    "Residuals",
    "RobustRegression",
    "Sample",
    "Scheme",
    "SeveralOutputs",
    "Softmax",
    "Specification",
    "Spread",
    "StudentT",
    "TargetDistribution",
    "Targets",
    "TrainingRows",
    "TrainingSet",
    "calibrated",
    "check_magnitude",
    "check_noise",
    "check_summable",
    "checked_by_folds",
    "checked_fit",
    "class_family",
    "coupling_for",
    "equal_pairs",
    "features_of",
    "fit",
    "fit_accumulated",
    "fit_candidates",
    "fit_pairwise",
    "fit_problem",
    "fit_varying_noise",
    "fit_with_learned",
    "has_prior",
    "has_width",
    "heard",
    "in_arrays",
    "in_blocks",
    "is_one_against",
    "judged",
    "known_places",
    "latent_of",
    "logged",
    "logger",
    "maximised",
    "own_solver",
    "regression_family",
    "remark_on_lost_classes",
    "silent",
    "targets_of",
    "trial_rows",
    "variance_factor",
]
