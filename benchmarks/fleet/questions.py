"""Asks the pack in this folder what the SQL of a page asks; prints seconds and rows of each question."""

import sys
from time import perf_counter

import duckdb

with open(sys.argv[1]) as page:
    sql = page.read().split("```sql\n")[1].split("```")[0]
for statement in sql.split(";\n"):
    lines = [line for line in statement.splitlines() if line]
    name = next((line[3:].split(":")[0] for line in lines if line.startswith("-- ")), None)
    if not lines:
        continue
    begun = perf_counter()
    asked = duckdb.sql(statement)
    if name:
        rows = asked.fetchall()
        print(f"  {name}: {perf_counter() - begun:.2f} s, {len(rows)} rows", flush=True)
