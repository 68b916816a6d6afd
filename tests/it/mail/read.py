"""Reads the messages of a folder with Python's `email`, and prints what is in each as JSON.

For each `.eml`, it checks what RFC 5322 and the MIME standards ask for, and fails with a message.
"""

import base64
import email
import email.policy
import json
import pathlib
import re
import sys

import icalendar

KNOWN_HEADERS = {
    "message-id", "date", "from", "to", "subject", "reply-to", "mime-version", "content-type", "auto-submitted",
}


def read(path):
    raw = path.read_bytes()
    assert all(len(line) <= 998 for line in raw.split(b"\r\n")), "a line is too long"
    assert b"\n" not in raw.replace(b"\r\n", b""), "a line ends without CR"
    assert raw.isascii(), "the message is not ASCII"
    message = email.message_from_bytes(raw, policy=email.policy.default)
    names = [name.lower() for name in message.keys()]
    assert len(names) == len(set(names)), f"a header is there twice: {names}"
    assert set(names) <= KNOWN_HEADERS, f"an unknown header: {names}"
    for part in message.walk():
        assert not part.defects, f"{part.get_content_type()}: {part.defects}"
        for name, value in part.items():
            assert not value.defects if hasattr(value, "defects") else True, f"{name}: {value.defects}"
    assert message.get_content_type() == "multipart/mixed", message.get_content_type()
    parts = list(message.iter_parts())
    alternative = parts[0]
    assert alternative.get_content_type() == "multipart/alternative"
    plain, related = list(alternative.iter_parts())
    assert plain.get_content_type() == "text/plain" and related.get_content_type() == "multipart/related"
    html, *pictures = list(related.iter_parts())
    assert html.get_content_type() == "text/html"
    assert plain.get_content_charset() == "utf-8" and html.get_content_charset() == "utf-8"
    page = html.get_content()
    cids = set(re.findall(r'src="cid:([^"]+)"', page))
    assert len(re.findall(r"\bsrc=", page)) == len(cids), "a picture is not in the mail"
    own = {part["Content-ID"].strip("<>"): part.get_content() for part in pictures}
    assert cids == set(own), f"{cids} {set(own)}"
    assert all(part.get_content_type() == "image/png" for part in pictures)
    attachments = {part.get_filename(): part.get_payload(decode=True) for part in parts[1:]}
    result = {
        "subject": message["subject"],
        "from": [message["from"].addresses[0].display_name, message["from"].addresses[0].addr_spec],
        "to": [[address.display_name, address.addr_spec] for address in message["to"].addresses],
        "replyTo": message["reply-to"].addresses[0].addr_spec if message["reply-to"] else None,
        "messageId": message["message-id"],
        "date": message["date"].datetime.isoformat(),
        "text": plain.get_content(),
        "html": page,
        "pictures": {name: base64.b64encode(data).decode() for name, data in own.items()},
        "attachments": {name: base64.b64encode(data).decode() for name, data in attachments.items()},
    }
    if "event.ics" in attachments:
        calendar = icalendar.Calendar.from_ical(attachments["event.ics"])
        events = calendar.walk("VEVENT")
        assert len(events) == 1
        result["event"] = [str(events[0]["SUMMARY"]), events[0].decoded("DTSTART").isoformat()]
    return result


folder = pathlib.Path(sys.argv[1])
print(json.dumps({path.stem: read(path) for path in sorted(folder.glob("*.eml"))}))
