"""Reads the mails of a Maildir with Python's `email`, and writes what a reader would open.

Arguments: the Maildir, and a folder. Prints, for each mail, its number, subject and codes. In the folder, `N.html` is the HTML
with its pictures beside it, `N.txt` the plain text, and `N-NAME` each attachment.
"""

import email
import email.policy
import pathlib
import re
import sys

mailbox, folder = map(pathlib.Path, sys.argv[1:])
seen = set()
mails = sorted((mailbox / "new").iterdir(), key=lambda path: path.stat().st_mtime_ns)
for number, path in enumerate(mails, 1):
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    for part in message.walk():
        assert not part.defects, f"{part.get_content_type()}: {part.defects}"
    for name in ("message-id", "date", "from", "to", "subject", "auto-submitted"):
        assert len(message.get_all(name, [])) == 1, f"{name}: {message.get_all(name)}"
    assert re.fullmatch(r"<mail_[0-9A-Z]{13}@example\.com>", message["message-id"]), message["message-id"]
    assert message["message-id"] not in seen, "a mail has arrived twice"
    seen.add(message["message-id"])
    assert message["auto-submitted"] == "auto-generated"
    assert message["return-path"] == "<tickets@example.com>", message["return-path"]
    plain, html = message.get_body(["plain"]), message.get_body(["html"])
    page = html.get_content()
    for part in message.walk():
        name = part.get_filename()
        if not name or part.is_multipart():
            continue
        (folder / f"{number}-{name}").write_bytes(part.get_payload(decode=True))
        cid = (part["content-id"] or "").strip("<>")
        if cid:
            assert f"cid:{cid}" in page, f"{cid} is not shown"
            page = page.replace(f"cid:{cid}", f"{number}-{name}")
    assert "cid:" not in page, "a picture is not in the mail"
    (folder / f"{number}.html").write_text(page)
    (folder / f"{number}.txt").write_text(plain.get_content())
    print(number, message["subject"], sep="\t")
