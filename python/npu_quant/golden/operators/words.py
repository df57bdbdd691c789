"""What operators share that round nothing: their results are bits, of which none may differ."""

from __future__ import annotations

from .model import Flat, Model, Part


class WordPart(Part):
    """Some elements of the output."""

    def __init__(self, model: WordModel, begin: int, end: int) -> None:
        super().__init__(model, ((begin, end),), begin, end)


class WordModel(Model):
    """An operator whose output has an element for each of `elements`, and only bits of it."""

    elements: Flat

    def most_steps(self, output: int) -> float:
        """Return that rounding explains no difference."""
        return 0

    def whole(self) -> list[Part]:
        """Return all elements."""
        return [WordPart(self, 0, self.elements.size)]
