"""Folders of arrays against folders: which array differs first, and whether that is rounding."""

from .comparison import FolderComparison, compare_folders

__all__ = ["FolderComparison", "compare_folders"]
