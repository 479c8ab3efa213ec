"""Parameters by name, as a fit of scaled data has them."""

from hgpbench.columns import Array

Values = dict[str, Array]
