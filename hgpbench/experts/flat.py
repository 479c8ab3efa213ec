"""Named arrays as one flat vector and back: the state of an expert, as it travels and lies in a checkpoint.

The vector begins with the number of arrays and their shapes, so that whoever takes it apart needs the names
alone.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from hgpbench.columns import Array


def pack(arrays: Mapping[str, Array]) -> Array:
    """All arrays, one after the other, in the order of their names."""
    shapes = [side for array in arrays.values() for side in (array.ndim, *array.shape)]
    head = np.array([len(arrays), *shapes], dtype=np.float64)
    return np.concatenate([head, *(np.ravel(array) for array in arrays.values())])


def unpack(flat: Array, names: Sequence[str]) -> dict[str, Array]:
    """The arrays of a vector, by the first of these names: views, so that a model is held once."""
    count, place, shapes = int(flat[0]), 1, []
    if count > len(names):
        raise ValueError(f"{count} arrays cannot have the {len(names)} names {', '.join(names)}")
    for _ in range(count):
        stop = place + 1 + int(flat[place])
        shapes.append(flat[place + 1 : stop].astype(int).tolist())
        place = stop
    arrays = {}
    for name, shape in zip(names[:count], shapes, strict=True):
        stop = place + int(np.prod(shape))
        arrays[name] = flat[place:stop].reshape(shape)
        place = stop
    return arrays
