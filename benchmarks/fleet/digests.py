"""What the digests of records in a folder say, number by number."""

import json
from pathlib import Path


def numbers(folder):
    """Columns: the machine, what a number is, which direction is better, and the number."""
    hosts, results, better, values = [], [], [], []
    for file in Path(folder).glob("*.json"):
        with open(file, "rb") as record:
            digest = json.load(record)["digest"]
        for area, workloads in digest["results"]["areas"].items():
            for workload, quantities in workloads.items():
                for quantity, those in quantities.items():
                    for row in those["rows"]:
                        what = f"{area} {workload} {quantity} {row.get('parameters', '')}"
                        for cell in row["cells"]:
                            if "median" in cell:
                                hosts.append(file.stem)
                                results.append(f"{what} {cell['active']} {cell.get('cpus', '')}")
                                better.append(those.get("better", ""))
                                values.append(cell["median"])
    return {"host": hosts, "result": results, "better": better, "value": values}
