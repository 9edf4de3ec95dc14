"""The limit on open files, which bounds connections."""

import resource

#: What a process has open besides its connections.
SPARE = 256


def raise_open_files(connections: int) -> int:
    """Allow so many connections at once where the system lets us; how many there may be now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    reachable = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if reachable > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (reachable, hard))
    return max(min(connections, reachable - SPARE), 1)
