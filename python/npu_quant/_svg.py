"""What inline pictures are made of: text and a frame, in the colour of the page's own text."""

from __future__ import annotations

from collections.abc import Sequence

from ._text import escaped


def text(x: float, y: float, content: str, anchor: str = "middle", more: str = "") -> str:
    """Return a text of the axes' size."""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="10.5" fill="currentColor"'
        f"{more}>{escaped(content)}</text>"
    )


def picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Return an SVG with a title, which screen readers say."""
    name = escaped(title, 480)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" '
        f'style="max-width:100%;font-family:sans-serif"><title>{name}</title>'
        f"{''.join(parts)}</svg>"
    )
