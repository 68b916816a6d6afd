"""Reads an exported file, and prints its rows as JSON.

read.py csv FILE [DELIMITER]      with Python's csv
read.py xlsx FILE                 with openpyxl: instants as text, and no formula
read.py duckdb FILE               with DuckDB, whose guesses must not change a text
read.py duckdb-sum FILE COLUMN    the sum of a column as DuckDB's exact decimal, as the only cell
"""
import json
import sys

command, path, *rest = sys.argv[1:]
if command == "csv":
    import csv

    csv.field_size_limit(10_000_000)
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, delimiter=rest[0] if rest else ",", strict=True))
elif command == "xlsx":
    import datetime
    import re

    import openpyxl

    def value(cell):
        assert cell.data_type != "f", f"{cell.coordinate} is a formula: {cell.value}"
        assert cell.hyperlink is None, f"{cell.coordinate} is a link"
        if isinstance(cell.value, datetime.datetime):
            return cell.value.isoformat(sep=" ", timespec="seconds")
        if isinstance(cell.value, str):
            # Excel reads these escapes, and openpyxl does not.
            return re.sub("_x([0-9A-F]{4})_", lambda escape: chr(int(escape[1], 16)), cell.value)
        return cell.value

    sheet = openpyxl.load_workbook(path).active
    assert sheet.freeze_panes == "A2", sheet.freeze_panes
    assert sheet.auto_filter.ref == sheet.dimensions, (sheet.auto_filter.ref, sheet.dimensions)
    rows = [[value(cell) for cell in row] for row in sheet.iter_rows()]
elif command == "duckdb":
    import duckdb

    rows = duckdb.sql(f"SELECT * FROM read_csv('{path}', all_varchar = true, header = false)").fetchall()
elif command == "duckdb-sum":
    import duckdb

    sum_of = f"SELECT COALESCE(SUM(CAST({rest[0]} AS DECIMAL(18, 2))), 0) FROM read_csv('{path}', all_varchar = true, header = true)"
    rows = [[str(duckdb.sql(sum_of).fetchall()[0][0])]]
else:
    sys.exit(__doc__)
json.dump(rows, sys.stdout)
