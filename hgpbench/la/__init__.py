"""The machine behind one door: products, factors and passes over matrices, named as algebra.

Nothing else imports scipy's linear algebra, ctypes, numba or MKL. All of it runs without the interpreter's
lock, so that threads may share a bound; nothing of it knows a Gaussian process. Names that end in ``_`` work
in place of their argument.
"""

from hgpbench.la.arrays import Array, diagonal, rowdots
from hgpbench.la.elementwise import (
    Outer,
    Panel,
    RowSums,
    Terms,
    add_sums,
    augment,
    decay_,
    exp_,
    modulate,
    modulate_symmetric,
    scale_rows,
)
from hgpbench.la.factors import (
    JITTER,
    MAX_JITTER,
    Factor,
    cholesky,
    eigen,
    factor_,
    factor_solve,
    factor_to_inverse_,
    inverse,
    inverse_factor,
    invert_lower_,
    logdet,
    solve_each,
)
from hgpbench.la.local import Places, local_products, local_sums
from hgpbench.la.nearest import Lengths, nearest_of_all
from hgpbench.la.products import (
    add_outer,
    add_transposed_times,
    gram,
    lower_of_product,
    lower_times,
    symmetric_times,
    symmetric_times_lower,
    times,
    times_transposed,
)

__all__ = [
    "JITTER",
    "MAX_JITTER",
    "Array",
    "Factor",
    "Lengths",
    "Outer",
    "Panel",
    "Places",
    "RowSums",
    "Terms",
    "add_outer",
    "add_sums",
    "add_transposed_times",
    "augment",
    "cholesky",
    "decay_",
    "diagonal",
    "eigen",
    "exp_",
    "factor_",
    "factor_solve",
    "factor_to_inverse_",
    "gram",
    "inverse",
    "inverse_factor",
    "invert_lower_",
    "local_products",
    "local_sums",
    "logdet",
    "lower_of_product",
    "lower_times",
    "modulate",
    "modulate_symmetric",
    "nearest_of_all",
    "rowdots",
    "scale_rows",
    "solve_each",
    "symmetric_times",
    "symmetric_times_lower",
    "times",
    "times_transposed",
]
