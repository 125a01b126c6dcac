"""The order of the examples in the gallery."""

ORDER = (
    # First steps
    "plot_out_of_the_box.py",
    "plot_sinc_regression.py",
    "plot_ripley_classification.py",
    "plot_multiclass.py",
    "plot_digit_prototypes.py",
    "plot_battery_life.py",
    # Tables in files
    "plot_table_to_file.py",
    "plot_command_line.py",
    # What is uncertain, and what counts
    "plot_intervals.py",
    "plot_posterior_functions.py",
    "plot_noise_and_counts.py",
    "plot_outliers.py",
    "plot_weights.py",
    "plot_several_outputs.py",
    # Kernels
    "plot_kernel_families.py",
    "plot_kernel_learning.py",
    "plot_several_scales.py",
    "plot_kernel_weights.py",
    "plot_text_kernel.py",
    # Features and dictionaries
    "plot_sparse_linear.py",
    "plot_polynomial_features.py",
    "plot_wavelets_and_splines.py",
    "plot_own_dictionary.py",
    "plot_information_gain.py",
    # Looking into a model
    "plot_displays.py",
    "plot_stability.py",
    "plot_evidence_trace.py",
    "plot_convergence.py",
    "plot_least_squares.py",
    # Many rows, and shipping what was found
    "plot_large_data.py",
    "plot_compact_support.py",
    "plot_growing_data.py",
    "plot_partitions.py",
    "plot_dask.py",
    "plot_export.py",
)


class ReadingOrder:
    """A sort key; examples not named above come last."""

    def __init__(self, source_folder):
        self.source_folder = source_folder

    def __call__(self, filename):
        position = ORDER.index(filename) if filename in ORDER else len(ORDER)
        return position, filename
