"""Median and MAD of each result, and machines that are worse by more than five MADs: DuckDB over a folder of records."""

import json
import sys

import duckdb

ROWS = "STRUCT(parameters VARCHAR, cells STRUCT(active INTEGER, cpus VARCHAR, median DOUBLE)[])[]"
AREAS = f"MAP(VARCHAR, MAP(VARCHAR, MAP(VARCHAR, STRUCT(better VARCHAR, rows {ROWS}))))"
NUMBERS = """
CREATE TABLE numbers AS
WITH records AS (
    -- The digest is a line near the beginning. read_json takes far longer, with `columns` and small objects, too.
    SELECT parse_filename(filename, true) AS host,
        content[instr(content, '"digest": ') + 10 : instr(content, '},' || chr(10))] AS digest
    FROM read_text(getvariable('files'))
),
maps AS (
    SELECT host, from_json(digest, getvariable('form')).results.areas AS areas
    FROM records
),
areas AS (SELECT host, unnest(map_entries(areas)) AS area FROM maps),
workloads AS (SELECT host, area.key AS area, unnest(map_entries(area.value)) AS workload FROM areas),
quantities AS (
    SELECT host, area, workload.key AS workload, unnest(map_entries(workload.value)) AS quantity FROM workloads
),
rows AS (
    SELECT host, area, workload, quantity.key AS quantity, quantity.value.better AS better,
        unnest(quantity.value.rows) AS row
    FROM quantities
),
cells AS (
    SELECT host, area, workload, quantity, better, row.parameters AS parameters, unnest(row.cells) AS cell FROM rows
)
SELECT host, area, workload, quantity, parameters, cell.active AS active, cell.cpus AS cpus, better,
    cell.median AS value
FROM cells WHERE value IS NOT NULL
"""
BEYOND = """
WITH typical AS (
    SELECT area, workload, quantity, parameters, active, cpus, median(value) AS middle, mad(value) AS mad
    FROM numbers GROUP BY ALL
),
beyond AS (
    SELECT DISTINCT host FROM numbers JOIN typical
    ON (numbers.area, numbers.workload, numbers.quantity, numbers.active)
        = (typical.area, typical.workload, typical.quantity, typical.active)
    AND numbers.parameters IS NOT DISTINCT FROM typical.parameters
    AND numbers.cpus IS NOT DISTINCT FROM typical.cpus
    WHERE (value - middle) * CASE better WHEN 'more' THEN -1 WHEN 'less' THEN 1 END > 5 * mad
)
SELECT (SELECT count(*) FROM numbers), (SELECT count(*) FROM typical), (SELECT count(*) FROM beyond)
"""

duckdb.execute("SET VARIABLE files = $files", {"files": sys.argv[1] + "/*.json"})
duckdb.execute("SET VARIABLE form = $form", {"form": json.dumps({"results": {"areas": AREAS}})})
duckdb.execute(NUMBERS)
numbers, results, machines = duckdb.sql(BEYOND).fetchall()[0]
print(f"{numbers} numbers of {results} results, {machines} machines beyond 5 MADs")
