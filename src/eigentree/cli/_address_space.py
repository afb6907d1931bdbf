"""A check of the limit of address space, before libraries are loaded that need some."""

from __future__ import annotations

from eigentree.cli._common import WorkFailedError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]  # not on Windows

# Below this OpenBLAS may wait forever for the memory of its threads.
MIN_MEGABYTES = 640


def check_address_space() -> None:
    """Refuse to work with too little address space.

    Raises
    ------
    WorkFailedError
    """
    if resource is None:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    megabytes = limit >> 20
    if limit != resource.RLIM_INFINITY and megabytes < MIN_MEGABYTES:
        raise WorkFailedError(
            f"the address space is limited to {megabytes} MB (ulimit -v); "
            f"at least {MIN_MEGABYTES} MB are required"
        )
