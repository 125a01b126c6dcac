"""The order of the examples in the gallery."""

ORDER = (
    "plot_sinc_regression.py",
    "plot_ripley_classification.py",
    "plot_multiclass.py",
    "plot_stability.py",
    "plot_evidence_trace.py",
    "plot_displays.py",
    "plot_kernel_families.py",
    "plot_several_scales.py",
    "plot_kernel_learning.py",
    "plot_text_kernel.py",
    "plot_sparse_linear.py",
    "plot_polynomial_features.py",
    "plot_wavelets_and_splines.py",
    "plot_own_dictionary.py",
    "plot_large_data.py",
    "plot_compact_support.py",
)


class ReadingOrder:
    """A sort key; examples not named above come last."""

    def __init__(self, source_folder):
        self.source_folder = source_folder

    def __call__(self, filename):
        position = ORDER.index(filename) if filename in ORDER else len(ORDER)
        return position, filename
