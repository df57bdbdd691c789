"""Arrays to compare: from memory or from files, in any format, and what goes with what."""

from .._names import dir_of
from .common import FileError
from .file_source import FileSource
from .loading import check_sums, list_arrays, load, same_file

__all__ = ["FileError", "FileSource", "check_sums", "list_arrays", "load", "same_file"]

__dir__ = dir_of(__name__)
