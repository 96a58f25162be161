"""Hold each record in a folder against the published schema, by a validator that is not ours.

usage: records.py SCHEMA FOLDER
"""

import json
import pathlib
import sys

import jsonschema

schema, folder = (pathlib.Path(name) for name in sys.argv[1:])
definition = json.loads(schema.read_text())
validator = jsonschema.validators.validator_for(definition)
validator.check_schema(definition)
validator = validator(definition)

records = sorted(folder.glob("*.json"))
faults = 0
for record in records:
    for error in validator.iter_errors(json.loads(record.read_text())):
        faults += 1
        print(f"{record}: {error.json_path}: {error.message[:200]}")
print(f"{len(records)} records, {faults} faults")
sys.exit(faults > 0 or not records)
