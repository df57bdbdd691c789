"""What a check finds."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that is wrong with a model."""

    severity: str
    """error or warning."""
    rule: str
    name: str
    """The tensor, module or file."""
    text: str
    """What is wrong, and what a consumer does."""


def has_error(findings: list[Finding]) -> bool:
    """Say whether one of them is more than a warning."""
    return any(finding.severity == "error" for finding in findings)


class Findings(list[Finding]):
    """All that was found so far, in order."""

    def error(self, rule: str, name: str, text: str) -> None:
        """Add an error."""
        self.add("error", rule, name, text)

    def warning(self, rule: str, name: str, text: str) -> None:
        """Add a warning."""
        self.add("warning", rule, name, text)

    def add(self, severity: str, rule: str, name: str, text: str) -> None:
        """Add an error or a warning."""
        self.append(Finding(severity, rule, name, text))
