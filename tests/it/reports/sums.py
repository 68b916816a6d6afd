"""Sums the sales of an event by day from the rows of a SQLite file, and prints them as JSON.

Arguments: the file, and the number of the event. The keys are a date in the event's zone and LIVE or TEST. The values are
orders, tickets, revenue, refunded, issued and cancelled tickets.
"""

import collections
import datetime
import json
import sqlite3
import sys
import zoneinfo

file, event = sys.argv[1], int(sys.argv[2])
database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
database.row_factory = sqlite3.Row


def rows(table):
    return [dict(row) for row in database.execute(f"SELECT * FROM {table}")]


[zone] = [zoneinfo.ZoneInfo(row["timezone"]) for row in rows("events") if row["id"] == event]
payments = {row["id"]: row for row in rows("payments") if row["event_id"] == event and row["purpose"] == "ORDER"}
mode_of_order = {row["order_id"]: row["mode"] for row in payments.values()}
tickets = [row for row in rows("tickets") if row["event_id"] == event]
tickets_of_order = collections.Counter(row["order_id"] for row in tickets)
sums = collections.defaultdict(lambda: [0] * 6)


def add(at, mode, position, number):
    date = datetime.datetime.fromtimestamp(at / 1000, zone).date().isoformat()
    sums[f"{date} {mode}"][position] += number


for order in rows("orders"):
    if order["event_id"] == event and order["completed_at"] is not None:
        mode = mode_of_order.get(order["id"], "LIVE")
        for position, number in enumerate([1, tickets_of_order[order["id"]], order["total"]]):
            add(order["completed_at"], mode, position, number)
for entry in rows("ledger_entries"):
    if entry["payment_id"] in payments and entry["kind"] in ("REFUND", "REFUND_FAILED"):
        add(entry["happened_at"], payments[entry["payment_id"]]["mode"], 3, -entry["amount"])
for ticket in tickets:
    if ticket["order_id"] is None:
        add(ticket["created_at"], "LIVE", 4, 1)
    if ticket["status"] == "CANCELLED":
        add(ticket["cancelled_at"], mode_of_order.get(ticket["order_id"], "LIVE"), 5, 1)
print(json.dumps({key: values for key, values in sums.items() if any(values)}))
