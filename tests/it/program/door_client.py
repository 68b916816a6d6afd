"""A device at the entrance, from the OpenAPI document alone: python3 door_client.py BASE_URL EVENT KEY DEVICE < codes

The first line of the input is "online" or "offline"; each further line is a code. Online, the service decides on each code.
Offline, the device decides by its roster, and reports afterwards. Prints "ready" when it has the roster, and then a line
"<outcome> <verdict of the device>" for each code.
"""
import base64, datetime, hashlib, json, sys, urllib.request, uuid

base, event, key, device = sys.argv[1:]


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-Api-Key": key, "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(base + path, data, headers)) as answer:
        return json.load(answer)


def digest(purpose, code, length):
    hashed = hashlib.sha256(f"{purpose}{event}{code}".encode()).digest()
    return base64.urlsafe_b64encode(hashed[:length]).rstrip(b"=").decode()


tickets, cursor, complete = {}, None, False
while not complete:
    part = call(f"/events/{event}/roster?limit=2" + (f"&since={cursor}" if cursor else ""))
    for hashed, ticket, ticket_type, status, *_ in part["tickets"]:
        tickets[hashed] = {"id": ticket, "status": status, "type": part["types"][ticket_type]["name"]}
    cursor, complete = part["cursor"], part["complete"]
assert len(tickets) == part["counts"]["tickets"], (len(tickets), part["counts"])

print("ready", flush=True)
mode, *codes = sys.stdin.read().split()
scans = []
for code in codes:
    code = code.replace("-", "").upper()
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    scan = {"id": str(uuid.uuid4()), "kind": "IN", "scannedAt": now}
    known = tickets.get(digest("roster", code, 12))
    if known is None:
        scan["code"] = code
    else:
        scan |= {"ticketId": known["id"], "proof": digest("scan", code, 16)}
    if mode == "offline":
        admits = known is not None and known["status"] == "NOT_CHECKED_IN"
        scan["verdict"] = "ADMITTED" if admits else "REFUSED"
        if admits:
            known["status"] = "CHECKED_IN"
    scans.append(scan)

report = {"device": device, "scans": scans}
results = call("/tickets/scans", report)["results"]
assert call("/tickets/scans", report)["results"] == results, "sent again, a report changes nothing"
for scan, result in zip(scans, results):
    assert scan["id"] == result["id"]
    print(result["outcome"], scan.get("verdict", "-"))
