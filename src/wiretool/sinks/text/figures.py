"""Sizes, rates and times as reports have them: to three digits, with their unit."""

from wiretool.sinks.text.line import duration

_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def time_text(time_us: float) -> str:
    """A time to three digits, of whole microseconds: `412 µs`, `3.20 ms`, `1.04 s`."""
    return f"{time_us:.0f} µs" if time_us < 999.5 else duration(round(time_us * 1_000))


def rate_text(per_s: float) -> str:
    """So many in a second: whole where there are many, else to three digits."""
    return f"{per_s:,.0f}" if per_s >= 99.95 else f"{per_s:.3g}"


def bytes_text(size: float) -> str:
    """Bytes to three digits: `12.3 MB`."""
    for factor, unit in _BYTES:
        if size >= factor * 0.9995:
            value = size / factor
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    return f"{size:.0f} B"
