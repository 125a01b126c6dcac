"""
Terms of a polynomial, and other features
=========================================

What ``RVR(kernel=None)`` selects from is up to the transformer in front of it. Behind
scikit-learn's ``PolynomialFeatures`` it selects terms of a polynomial: here five
measurements have 251 products of up to five factors, and four of these make the
signal.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from relvec import RVR

truth = {"a": 2.0, "b^2": -1.5, "a c": 3.0, "c d^3": 2.5}
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (1000, 5))
polynomial = PolynomialFeatures(degree=5, include_bias=False)
terms = polynomial.fit_transform(X)
names = polynomial.get_feature_names_out(list("abcde")).tolist()
chosen = [names.index(term) for term in truth]
y = terms[:, chosen] @ list(truth.values()) + 0.3 * rng.standard_normal(1000)
train, test = slice(0, 500), slice(500, None)

# %%
# The scaler is for us: the model does not depend on the scale of its columns, but
# weights of columns of one scale can be compared. The true terms stand out. The rest
# of those kept have small weights; see :doc:`/limits` for why they are there at all.

scaler = StandardScaler()
model = make_pipeline(polynomial, scaler, RVR(kernel=None)).fit(X[train], y[train])
weights = model[-1].coef_
n_kept = np.count_nonzero(weights)
largest = np.argsort(-np.abs(weights))[:16][::-1]

fig, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
labels = [f"${names[term]}$" for term in largest]
ax.barh(labels, weights[largest], color="C0", height=0.6)
rows = [largest.tolist().index(term) for term in chosen]
scaled_truth = np.array(list(truth.values())) * scaler.scale_[chosen]
ax.plot(scaled_truth, rows, "o", mfc="none", mec="C3", ms=9, label="truth")
ax.axvline(0, color="0.8", lw=0.8, zorder=0)
ax.set(xlabel="weight × standard deviation of the term")
ax.set_title(f"{len(names)} terms, {n_kept} kept: the 16 with the largest weights")
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Any other transformer goes in the same place. Functions of one measurement at a time
# miss the products, Fourier features and Nyström's have to approximate them.

others = {
    "PolynomialFeatures": polynomial,
    "SplineTransformer": SplineTransformer(),
    "RBFSampler": RBFSampler(gamma=0.3, n_components=250, random_state=0),
    "Nystroem": Nystroem(gamma=0.3, n_components=250, random_state=0),
}
for name, transformer in others.items():
    model = make_pipeline(transformer, RVR(kernel=None)).fit(X[train], y[train])
    error = np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))
    kept = f"{np.count_nonzero(model[-1].coef_):3} of {model[-1].n_features_in_} kept"
    print(f"{name:20}{kept:16} error on new rows {error:.2f} (noise: 0.30)")
