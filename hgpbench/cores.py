"""How numerical libraries learn their number of threads when they load."""

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def thread_variables(threads: int) -> dict[str, str]:
    """The environment variables that ask for so many threads."""
    return dict.fromkeys(_VARIABLES, str(threads))
