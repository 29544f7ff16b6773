# SPDX-License-Identifier: MIT
"""What may be wrong with a checkpoint."""


class CheckpointError(ValueError):
    """A file that is no whole checkpoint, or one of another run than this; nothing was changed by it."""


class VersionWarning(UserWarning):
    """A checkpoint was written with another version of a library, which may compute other bits."""
