"""Sums over partitions of data on many machines, by Dask: value, gradient and every further derivative."""

try:
    import distributed as _dask_distributed
except ImportError as error:
    raise ImportError(
        'lindiff.distributed runs on Dask, which is not installed: pip install "lindiff[dask]"'
    ) from error

from lindiff.distributed.sums import Sum

__all__ = ["Sum"]

del _dask_distributed
