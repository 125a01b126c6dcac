"""
Rows that are text
==================

A callable is given the rows as they are. They may be strings, graphs or sets: whatever
it can compare. Here a kernel counts the pieces of one to three letters that two words
share, and :class:`~relvec.RVC` learns to tell names of Finnish towns from Dutch ones.
See :doc:`/guide/kernels`.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from relvec import RVC

FINNISH = """
Helsinki Espoo Tampere Vantaa Oulu Turku Jyväskylä Kuopio Lahti Pori Kouvola Joensuu
Lappeenranta Hämeenlinna Vaasa Seinäjoki Rovaniemi Mikkeli Kotka Salo Porvoo Kokkola
Hyvinkää Lohja Järvenpää Rauma Kajaani Kerava Savonlinna Nokia Ylöjärvi Kangasala Vihti
Riihimäki Imatra Raisio Raahe Sastamala Hollola Tornio"""
DUTCH = """
Amsterdam Rotterdam Utrecht Eindhoven Groningen Tilburg Almere Breda Nijmegen Apeldoorn
Arnhem Haarlem Enschede Amersfoort Zwolle Leiden Zoetermeer Leeuwarden Emmen Maastricht
Dordrecht Ede Alkmaar Delft Deventer Venlo Helmond Oss Hilversum Amstelveen Heerlen
Hengelo Purmerend Schiedam Roosendaal Lelystad Hoorn Gouda Assen Zeist"""
finnish, dutch = FINNISH.split(), DUTCH.split()


def pieces(word):
    marked = f"^{word.lower()}$"
    places = [
        (i, i + size) for size in (1, 2, 3) for i in range(len(marked) - size + 1)
    ]
    return Counter(marked[start:stop] for start, stop in places)


def shared_pieces(first, second):
    """The cosine of the angle between the counts of all pieces."""
    tables = [[pieces(word) for word in words] for words in (first, second)]
    norms = [[np.sqrt(sum(n**2 for n in c.values())) for c in t] for t in tables]
    products = [[sum(a[p] * b[p] for p in a) for b in tables[1]] for a in tables[0]]
    return np.array(products) / np.outer(*norms)


# %%
# The relevance vectors are names, in ``relevance_vectors_``.

names = np.array(finnish + dutch, dtype=object)
country = np.repeat(["Finland", "Netherlands"], [len(finnish), len(dutch)])
model = RVC(shared_pieces).fit(names, country)
scores = cross_val_score(RVC(shared_pieces), names, country, cv=5)
print(f"{len(model.relevance_)} of {len(names)} names are relevance vectors")
print(f"right in five-fold cross-validation: {scores.mean():.0%}")

new = ["Kirkkonummi", "Lieksa", "Harderwijk", "Wageningen", "Kampen", "Oslo", "Berlin"]
odds = model.predict_proba(new)[:, 0]

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
colours = np.where(country == "Finland", "C0", "C1")
left.barh(model.relevance_vectors_, model.dual_coef_, color=colours[model.relevance_])
left.set(title="Relevance vectors", xlabel="weight")
right.barh(new[::-1], odds[::-1], color="0.6")
right.axvline(0.5, color="k", lw=0.8)
right.set(title="Names not seen before", xlabel="probability of Finland", xlim=(0, 1))
plt.show()
