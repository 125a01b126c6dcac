"""Fitted attributes, as scikit-learn's users know them, from a fitted model."""

from typing import Any

# Only some fits have these; the next fit takes them back.
OPTIONAL = (
    "accumulated_",
    "calibration_",
    "degrees_of_freedom_",
    "dispersion_",
    "estimators_",
    "kernel_",
    "kernel_weights_",
    "kernel_history_",
    "length_scales_",
    "feature_relevance_",
    "leave_one_out_error_",
    "n_partitions_",
    "noise_variance_",
    "partition_history_",
    "partition_size_",
    "sparseness_ratio_",
    "tuning_history_",
)


def fitted_attributes(model: Any) -> dict[str, Any]:
    """By name, of one model or of several that are one."""
    model = model.in_order()
    learned = {
        "kernel_": model.learned.kernel,
        "kernel_weights_": model.learned.weights,
        "kernel_history_": model.learned.history,
        "length_scales_": model.learned.length_scales,
        "feature_relevance_": model.learned.feature_relevance,
        "calibration_": model.calibration,
    }
    parts = model.partition
    if parts is not None:
        learned |= {
            "partition_size_": parts.size,
            "n_partitions_": parts.number,
            "sparseness_ratio_": parts.sparseness_ratio,
            "partition_history_": parts.history,
        }
    return {
        "model_": model,
        "relevance_": model.indices,
        "relevance_kernel_": model.kernel_indices,
        "relevance_vectors_": model.centres,
        "dual_coef_": model.weights,
        "prior_precision_": model.prior_precision,
        "intercept_": model.intercept,
        "intercept_precision_": model.intercept_precision,
        "log_evidence_": model.log_evidence,
        "n_iter_": model.n_iter,
        "history_": model.history,
        "status_": model.status,
        **{name: value for name, value in learned.items() if value is not None},
    }
