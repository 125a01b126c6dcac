"""The limits of double precision: which digits of a computation are to be trusted.

A sum of products over some thousand rows is wrong by ``ROUNDING`` of its terms. Gram
matrices magnify that by their condition κ, the largest diagonal element of
I + A^(-1/2)ΦᵀBΦA^(-1/2): how many times what a prior says the data say of its weight.
What is computed from them is wrong by ROUNDING·κ, in nats for the evidence, relatively
for S, Q and gains.
"""

import numpy as np

TINY = float(np.finfo(float).tiny)  # what has a finite reciprocal
# √2000 times the machine's ε: errors of a sum of some thousand terms add like a walk.
ROUNDING = 1e-14

# κ up to which Gram matrices serve, by the error ROUNDING·κ that they then have:
GRAM_LIMIT = 1e6  # 1e-8: models are compared by differences of evidence of this size
FACTOR_LIMIT = 1e8  # 1e-6: log determinants, of evidences of a hundred nats and more
DIFFERENCE_LIMIT = 1e11  # 1e-3: S and Q still tell gains; beyond, columns are asked

# What Gram matrices leave of φᵀC⁻¹φ is rounding below this share of φᵀBφ, ten times
# that of a sum: the column lies in the span of the chosen ones.
DEPENDENT = 1e-13
# The same where columns are asked and not Gram matrices: what reflections leave of one
# is off by ROUNDING of its length, its square by the square of that.
LEAST_SHARE = (10 * ROUNDING) ** 2
# The share of Gram matrices per unit of κ, which overtakes from 1e5 on. Found by trial:
# without it, rounding enters models of low noise as functions (200 nats lost on a noisy
# sinc with a deviation of 1e-6); with ε itself wide kernels lose functions that they
# need.
_DEPENDENT_BY_CONDITION = 1e-18
# To which low rank may be asked for an entry of Φ: what a thousand pivots leave of one,
# a difference, is wrong by a thousand times ROUNDING.
LEAST_TOLERANCE = 1e-11
# Of the largest diagonal element, per column: added where Cholesky's method fails. Four
# times ε, the bound on its backward error.
LOST_TO_ROUNDING = 1e-15
# A prior says at least this of what the data say of a weight: beyond, orthogonal
# factors, whose error is ε·√κ, no longer tell models apart. A noise of 1e-5 of the
# target beside smooth functions takes 1e-24.
LEAST_PRIOR_SHARE = 1e-28
# |cosine| from which two columns are copies: gains of one are those of the other.
COPY = 1 - 1e-10
# Relative difference of two gains that are equal but for rounding: ROUNDING·GRAM_LIMIT.
TIE = 1e-8
# By which an objective may seem to fall, relative to its size: a hundred sums over
# rows. Derivatives, which Newton's method has, tell the way where differences do not.
SLACK = 100 * ROUNDING
NEWTON_SLACK = 100 * SLACK

# Precision of a pseudo-observation from which on it carries no information, and its
# target, a quotient by it, no digits.
LEAST_PRECISION = 1e-12
# Noise variance, in units of the targets' mean square, that statistics in double
# precision cannot tell from none: residuals of 1e-6 are squares of 1e-12.
NOISE_FLOOR = 1e-12


def dependent_share(condition: float) -> float:
    """What Gram matrices leave of S is rounding below this share of βφᵀWφ."""
    return max(DEPENDENT, _DEPENDENT_BY_CONDITION * condition)
