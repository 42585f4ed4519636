"""A benchmark's published counts beside what was read: is this the file that the papers speak of?"""

from __future__ import annotations


def compare(dataset: str, published: dict[str, int], counted: dict[str, int]) -> str:
    """One sentence: the same, or what differs."""
    differing = [name for name in published if counted[name] != published[name]]
    if not differing:
        return f"{dataset}: as published ({', '.join(f'{count:,} {name}' for name, count in published.items())})."
    said = ", ".join(f"{counted[name]:,} {name} (published: {published[name]:,})" for name in differing)
    return f"{dataset}: this is not the published dataset as a whole: {said}."
