# SPDX-License-Identifier: MIT
"""Receipts of training: what a program computed, step by step, as a chain of digests that anybody can compute again.

`repdl run --receipt` writes one, `repdl verify` runs the program again and names the first step that differs. With
`Resumable` a program can also be verified from its checkpoints, some steps of it drawn at random.

`program` is what was run, `follower` sees its steps, `digests` hashes values, `generators` says which of those count,
and `processes` gathers what other processes tell. `entries` says what a chain is made of, `file` writes and reads one.
`writing` and `verifying` are the two commands. `rerun` is the process in which a program is run again, `stretches` are
the parts of a run that are, and `difference` says what is another run.
"""

from repdl.receipts.entries import ReceiptError as ReceiptError
from repdl.receipts.resumable import Resumable as Resumable
