"""Folders of arrays against folders: which array differs first, and whether that is rounding."""

from ..folder_results import Alone, FolderRow
from .comparison import FolderComparison, compare_folders

__all__ = ["Alone", "FolderComparison", "FolderRow", "compare_folders"]
