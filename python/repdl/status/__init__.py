# SPDX-License-Identifier: MIT
"""In what each op of torch keeps its bits, measured: stock, with deterministic algorithms, and with this library.

    result = repdl.status.measure(["sum", "nn.functional.layer_norm"], ["float32"])
    print(repdl.status.page(result))

`repdl status` does the same from the shell. Calls are those of torch's own tests (op_db), as they are and made larger
(`calls`). A worker process makes each again in every way (`trial`), and asks others that take other instructions
(`elsewhere`); `table` holds what was found.
"""

from repdl.status.page import page as page
from repdl.status.run import measure as measure
from repdl.status.table import (
    COLUMNS as COLUMNS,
    KINDS as KINDS,
    Cell as Cell,
    FormatError as FormatError,
    Row as Row,
    Status as Status,
)
