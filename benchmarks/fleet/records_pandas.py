"""Median and MAD of each result, and machines that are worse by more than five MADs: pandas over a folder of records."""

import sys

import pandas
from digests import numbers

table = pandas.DataFrame(numbers(sys.argv[1]))
by_result = table.groupby("result")
table["off"] = table["value"] - by_result["value"].transform("median")
table["mad"] = table["off"].abs().groupby(table["result"]).transform("median")
sign = table["better"].map({"more": -1, "less": 1}).fillna(0)
beyond = table[table["off"] * sign > 5 * table["mad"]]
print(f"{len(table)} numbers of {by_result.ngroups} results, {beyond['host'].nunique()} machines beyond 5 MADs")
