"""
A model on a chip
=================

What a relevance vector machine computes is short: a few vectors, a kernel, a sum. So it
is shipped as a few kilobytes of C or ONNX, error bars and all. See
:doc:`/guide/shipping`.
"""

import tempfile
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import relvec
from relvec import RVR
from relvec.export import to_c, to_onnx

# %%
# A sensor that is far from zero: temperatures in kelvin, pressures in pascal. The
# scaler before the model becomes part of its kernel.

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(300, 5, 1000), rng.normal(101_325, 400, 1000)])
u, v = (X - [300, 101_325]).T / [[5], [400]]
y = np.sin(2 * u) * np.exp(-(v**2) / 4) + rng.normal(0, 0.1, 1000)
model = make_pipeline(StandardScaler(), RVR()).fit(X, y)
print(f"{len(model[-1].relevance_)} vectors")

# %%
# Three files of it, each of which is verified by the rows that it brings along.

folder = Path(tempfile.mkdtemp())
relvec.save(model, folder / "sensor.json")
to_onnx(model, folder / "sensor.onnx")
to_c(model, folder / "sensor.c", name="sensor")
for path in [folder / "sensor.json", folder / "sensor.onnx"]:
    print(f"{path.name}: error {relvec.verify(path):.0e}")
print((folder / "sensor.c").read_text()[:500])

# %%
# Without the scaler in double precision first, seven digits of 101 325 pascal would
# leave three for the kernel. The graph takes differences from a point among the vectors
# before anything else.

session = onnxruntime.InferenceSession(folder / "sensor.onnx")
(found,) = session.run(["mean"], {"X": X.astype(np.float32)})
error = np.abs(found - model.predict(X.astype(np.float32).astype(float)))

svr = make_pipeline(StandardScaler(), SVR(gamma=1.0)).fit(X, y)
joblib.dump(svr, folder / "svr.joblib")
sizes = {
    f"SVR, joblib\n{len(svr[-1].support_)} vectors": "svr.joblib",
    "RVR, model file\n(covariance, history)": "sensor.json",
    f"RVR, ONNX\n{len(model[-1].relevance_)} vectors": "sensor.onnx",
}

fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
left.hist(np.log10(np.maximum(error, 1e-9)), bins=40, color="C0")
left.set(title="Single precision", xlabel="log10 of the error of the mean")
names = list(sizes)
bytes_ = [(folder / name).stat().st_size / 1000 for name in sizes.values()]
right.barh(names, bytes_, color=["0.7", "C0", "C0"])
right.set(title="What is shipped", xlabel="kB")
plt.show()
