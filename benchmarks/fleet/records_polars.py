"""Median and MAD of each result, and machines that are worse by more than five MADs: Polars over a folder of records."""

import sys

import polars
from digests import numbers
from polars import col

sign = {"more": -1, "less": 1}
off = col("value") - col("value").median().over("result")
table = (polars.DataFrame(numbers(sys.argv[1]))
    .with_columns(off=off, sign=col("better").replace_strict(sign, default=0))
    .with_columns(mad=col("off").abs().median().over("result")))
beyond = table.filter(col("off") * col("sign") > 5 * col("mad"))
results, machines = table["result"].n_unique(), beyond["host"].n_unique()
print(f"{len(table)} numbers of {results} results, {machines} machines beyond 5 MADs")
