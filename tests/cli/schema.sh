#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# schema.sh RECORD...: each record is valid JSON and fits the schema in results/ that it names.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# Debian's own interpreter: that is where python3-jsonschema is.
exec /usr/bin/python3 - "$@" <<'END'
import json, sys
import jsonschema

count = 0
for name in sys.argv[1:]:
    count += 1
    try:
        with open(name) as f:
            record = json.load(f)
        kind = record["schema"].split("/")[1]
        with open(f"results/{kind}.schema.json") as f:
            schema = json.load(f)
        jsonschema.Draft7Validator.check_schema(schema)
        jsonschema.Draft7Validator(schema).validate(record)
        print(f"ok {count} - {name.rsplit('/', 1)[-1]} fits {record['schema']}")
    except Exception as e:
        print(f"not ok {count} - {name}: {str(e).splitlines()[0]}")
print(f"1..{count}")
END
