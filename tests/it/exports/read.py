"""Reads an exported file, and prints its rows as JSON.

read.py csv FILE [DELIMITER]      with Python's csv
read.py xlsx FILE                 with openpyxl, from the header on: instants as text, and no formula
read.py paper FILE                with openpyxl: how the sheet is printed, the widths of its columns, and the lines above
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
elif command in ("xlsx", "paper"):
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
    header = int(re.search(r"\d+", sheet.auto_filter.ref)[0])
    assert sheet.freeze_panes == f"A{header + 1}", sheet.freeze_panes
    last = sheet.dimensions.split(":")[1]
    assert sheet.auto_filter.ref == f"A{header}:{last}", (sheet.auto_filter.ref, sheet.dimensions)
    if command == "xlsx":
        rows = [[value(cell) for cell in row] for row in sheet.iter_rows(min_row=header)]
    else:
        # Neighbours of the same width are one element of the file.
        groups = sheet.column_dimensions.values()
        widths = {column: group.width for group in groups for column in range(group.min, group.max + 1)}
        setup, is_fitted = sheet.page_setup, sheet.sheet_properties.pageSetUpPr.fitToPage
        rows = [
            [setup.orientation, is_fitted, int(setup.fitToWidth or 1), int(setup.fitToHeight), sheet.print_title_rows,
             sheet.print_title_cols or None],
            [widths[cell.column] for cell in sheet[header]],
            *([value(cell) for cell in row[:2]] for row in sheet.iter_rows(max_row=header - 1)),
        ]
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
