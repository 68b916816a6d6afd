"""Signs notices with the signer of Stripe's Python package, and sends them to a server, which has to accept the genuine
ones and to refuse the others.

Usage: notices.py URL SECRET SECRET
"""

import json
import sys
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from stripe import SignatureVerificationError, Webhook, WebhookSignature


def send(url, body, header):
    headers = {"Content-Type": "application/json; charset=utf-8"}
    if header is not None:
        headers["Stripe-Signature"] = header
    try:
        with urlopen(Request(url, body.encode(), headers), timeout=30) as response:
            return response.status
    except HTTPError as error:
        return error.code


def event(kind, thing):
    """An event as Stripe formats it."""
    event = {
        "id": "evt_1NG8Du2eZvKYlo2CUI79vXWy",
        "object": "event",
        "api_version": "2026-10-28.endive",
        "created": int(time.time()),
        "data": {"object": thing},
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": kind,
    }
    return json.dumps(event, indent=2, ensure_ascii=False)


def thin_event():
    """A thin event as Stripe formats it."""
    return json.dumps(
        {
            "id": "evt_test_65R9Ijk8dKEYZcXeRWn16R9A7j1FSQ3w3TGDPLLGSM4CW0",
            "object": "v2.core.event",
            "type": "v1.billing.meter.error_report_triggered",
            "livemode": False,
            "created": "2024-09-17T06:20:52.246Z",
            "context": None,
            "related_object": {
                "id": "mtr_test_61R9IeP0SgKbYROOx41PEAQhH0qO23oW",
                "type": "billing.meter",
                "url": "/v1/billing/meters/mtr_test_61R9IeP0SgKbYROOx41PEAQhH0qO23oW",
            },
        }
    )


SESSION = {
    "id": "cs_test_a1Ae6ClgOkjygKwrf9B3L6ITtUuZW4Xx9FivL6DZYoYFdfAefQxsYpJJd3",
    "object": "checkout.session",
    "amount_total": 2500,
    "client_reference_id": None,
    "currency": "eur",
    "metadata": {"note": "Ärger & <Öl>"},
    "payment_intent": "pi_3MtwBwLkdIwHu7ix28a3tqPa",
    "payment_status": "paid",
    "status": "complete",
}


def main(url, secret, other_secret):
    sign = WebhookSignature.generate_signature_header
    body = event("checkout.session.completed", SESSION)
    now = int(time.time())
    good = sign(body, secret, now)
    _, signature = good.split(",v1=")
    both = f"{sign(body, 'whsec_gone', now)},v1={signature}"
    genuine = [
        ("an event about a session of another program", body, good),
        ("an event signed with the other secret", body, sign(body, other_secret, now)),
        ("an event with the signatures of two secrets", body, both),
        ("an event with a signature of another scheme first", body, f"t={now},v0=0123abcd,v1={signature}"),
        ("an event almost five minutes old", body, sign(body, secret, now - 280)),
        ("an event of another type", (text := event("customer.created", {"id": "cus_1"})), sign(text, secret, now)),
    ]
    tampered = [
        ("another amount", body.replace("2500", "25"), good),
        ("a space more", body + " ", good),
        ("no signature", body, None),
        ("an empty signature", body, ""),
        ("only a time", body, f"t={now}"),
        ("another time", body, f"t={now + 1},v1={signature}"),
        ("a signature of an unknown secret", body, sign(body, "whsec_gone", now)),
        ("the signature of the empty secret", body, sign(body, "", now)),
        ("the scheme v0 only", body, f"t={now},v0={signature}"),
        ("half of the signature", body, f"t={now},v1={signature[:32]}"),
        ("too old", body, sign(body, secret, now - 320)),
        ("from the future", body, sign(body, secret, now + 320)),
    ]
    for what, text, header in genuine:
        Webhook.construct_event(text, header, other_secret if "the other" in what else secret)
        status = send(url, text, header)
        if status != 200:
            sys.exit(f"{what}: {status}")
    # Stripe would send what cannot be read again for days.
    for what, text in [("a thin event about something else", thin_event()), ("no JSON", "{")]:
        status = send(url, text, sign(text, secret, now))
        if status != 200:
            sys.exit(f"{what}: {status}")
    for what, text, header in tampered:
        try:
            Webhook.construct_event(text, header, secret)
        except (SignatureVerificationError, ValueError):
            pass
        else:
            # Stripe's library accepts events from the future.
            assert what == "from the future", what
        status = send(url, text, header)
        if status != 400:
            sys.exit(f"{what}: {status}")
    print(f"The server accepts {len(genuine)} notices that Stripe's signer signed, and refuses {len(tampered)} others")


main(*sys.argv[1:])
