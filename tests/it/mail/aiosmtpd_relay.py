"""A relay of aiosmtpd with AUTH, STARTTLS and SIZE. Prints its port, and a line of JSON for each mail."""

import json
import socket
import ssl
import sys
import time

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword


class Handler:
    async def handle_DATA(self, server, session, envelope):
        print(json.dumps({
            "from": envelope.mail_from, "to": envelope.rcpt_tos, "encrypted": session.ssl is not None,
            "user": session.auth_data.login.decode() if session.auth_data else None,
            "message": envelope.original_content.decode("ascii"),
        }), flush=True)
        return "250 taken by aiosmtpd"


def authenticate(server, session, envelope, mechanism, data):
    right = isinstance(data, LoginPassword) and (data.login, data.password) == (b"ticketing", b"s e c r e t")
    return AuthResult(success=right, auth_data=data) if right else AuthResult(success=False, handled=False)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
controller = Controller(
    Handler(), hostname="127.0.0.1", port=port, tls_context=context, require_starttls=True, authenticator=authenticate,
    auth_required=True, data_size_limit=20_000_000,
)
controller.start()
print(port, flush=True)
while True:
    time.sleep(60)
