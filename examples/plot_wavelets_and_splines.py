"""
Wavelets and splines
====================

A transformer in front of ``RVR(kernel=None)`` makes its columns the dictionary.
:class:`~relvec.wavelets.WaveletTransformer` has functions from coarse to fine, for
signals with jumps or with detail in some places only; scikit-learn's
``SplineTransformer`` has bumps of one width. Here are two signals after Donoho and
Johnstone, blocks and a Doppler curve, and about 130 functions of each kind.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from relvec import RVR, sparse_bayes
from relvec.wavelets import WaveletTransformer

x = np.linspace(0, 1, 600)
places = np.array([6, 8, 10, 15, 16, 26, 28, 42, 49, 50, 52]) / 64
jumps = np.array([4, -5, 3, -4, 5, -4.2, 2.1, 4.3, -3.1, 2.1, -4.2])
signals = {
    "blocks": (x[:, None] >= places) @ jumps,
    "Doppler": 8 * np.sqrt(x * (1 - x)) * np.sin(2.1 * np.pi / (x + 0.1)),
}
noise = 0.7 * np.random.default_rng(0).standard_normal(len(x))
dictionaries = {
    "Haar": WaveletTransformer("haar", levels=7),
    "symmlets": WaveletTransformer("symmlet", levels=7),
    "splines": SplineTransformer(n_knots=126),
}

# %%
# Steps suit the blocks, smooth wavelets the Doppler curve: each is nearest to the truth
# where it suits, and with the fewest functions. Splines of one width must be narrow
# everywhere to be narrow somewhere.

fig, axes = plt.subplots(2, 3, figsize=(9, 5), sharex=True, layout="constrained")
for row, (signal_name, signal) in zip(axes, signals.items(), strict=True):
    for ax, (name, functions) in zip(row, dictionaries.items(), strict=True):
        model = make_pipeline(functions, RVR(kernel=None))
        model.fit(x[:, None], signal + noise)
        mean = model.predict(x[:, None])
        error = np.sqrt(np.mean((mean - signal) ** 2))
        n_kept = len(model[-1].relevance_)
        ax.plot(x, signal + noise, ".", color="0.75", ms=3)
        ax.plot(x, signal, "--", color="C3", lw=1)
        ax.plot(x, mean, color="C0", lw=1.4)
        ax.set_title(f"{name}: {n_kept} functions, error {error:.2f}", fontsize=10)
    row[0].set_ylabel(signal_name)
plt.show()

# %%
# The jumps lie between cells of Haar's wavelets here. Where they do not, more wavelets
# are needed. Some of the functions kept have weights near zero, as always where there
# are many to choose from; see :doc:`/limits`. :func:`~relvec.sparse_bayes` returns the
# uncertainty of the weights, which tells them apart.

Phi = dictionaries["Haar"].fit_transform(x[:, None])
found = sparse_bayes(Phi, signals["blocks"] + noise)
clear = np.abs(found.weights) > 3 * np.sqrt(np.diag(found.covariance))
names = dictionaries["Haar"].get_feature_names_out()[found.relevant[clear]]
print(f"{Phi.shape[1]} functions, {len(found.relevant)} kept, {clear.sum()} clear:")
print(", ".join(name.removeprefix("x0_") for name in names))
