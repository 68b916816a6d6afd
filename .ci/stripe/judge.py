"""Judges recorded requests with the parameter types that Stripe generates for its Python package.

Usage: judge.py FILE, in which each line is a request as JSON. The types forbid unknown names here, and a word has to be
one of those that Stripe lists. Then each name in the requests is misspelt once, each number gets a fraction, and each
required parameter is removed: the judge has to refuse all of these.
"""

import json
import re
import sys
from functools import cache
from importlib import import_module
from typing import Literal, Union, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

from pydantic import ConfigDict, TypeAdapter, ValidationError
from stripe import _request_options
from stripe._stripe_object import UntypedStripeObject
from typing_extensions import NotRequired, Required, TypedDict, is_typeddict

# The type of the parameters by method and path.
TYPES = [
    (r"POST /v1/checkout/sessions", "checkout.SessionCreateParams"),
    (r"POST /v1/checkout/sessions/cs_\w+/expire", "checkout.SessionExpireParams"),
    (r"GET /v1/checkout/sessions/cs_\w+", "checkout.SessionRetrieveParams"),
    (r"GET /v1/checkout/sessions", "checkout.SessionListParams"),
    (r"GET /v1/payment_intents/pi_\w+", "PaymentIntentRetrieveParams"),
    (r"GET /v1/payment_intents", "PaymentIntentListParams"),
    (r"GET /v1/charges/ch_\w+", "ChargeRetrieveParams"),
    (r"POST /v1/refunds", "RefundCreateParams"),
    (r"GET /v1/refunds/re_\w+", "RefundRetrieveParams"),
    (r"GET /v1/refunds", "RefundListParams"),
    (r"GET /v1/disputes/du_\w+", "DisputeRetrieveParams"),
    (r"GET /v1/disputes", "DisputeListParams"),
    (r"GET /v1/webhook_endpoints", "WebhookEndpointListParams"),
    (r"GET /v1/balance", "BalanceRetrieveParams"),
    (r"GET /v1/balance_transactions", "BalanceTransactionListParams"),
]


class Refused(Exception):
    pass


def exact(hint):
    """The type of a parameter without what Stripe adds for convenience: any text beside a list of words."""
    if is_typeddict(hint):
        return exact_group(hint)
    if get_origin(hint) is Literal:
        return hint
    if get_origin(hint) is Union or type(hint).__name__ == "UnionType":
        members = [member for member in get_args(hint) if get_origin(member) is not UntypedStripeObject]
        if any(get_origin(member) is Literal for member in members):
            members = [member for member in members if member is not str]
        return Union[tuple(exact(member) for member in members)]
    arguments = tuple(exact(argument) for argument in get_args(hint))
    if get_origin(hint) in (list, dict, NotRequired, Required):
        return get_origin(hint)[arguments if len(arguments) > 1 else arguments[0]]
    return hint


@cache
def exact_group(group):
    hints = get_type_hints(group, localns={**vars(_request_options), "StripeContext": object}, include_extras=True)
    # The options of a request, such as its API key, are not parameters.
    options = _request_options.RequestOptions
    if options in getattr(group, "__orig_bases__", ()):
        hints = {name: hint for name, hint in hints.items() if name not in options.__annotations__}
    new = TypedDict(group.__name__, {name: exact(hint) for name, hint in hints.items()})
    new.__pydantic_config__ = ConfigDict(extra="forbid")
    return new


@cache
def adapter(method, path):
    for pattern, name in TYPES:
        if re.fullmatch(pattern, f"{method} {path}"):
            module, _, name = f"stripe.params.{name}".rpartition(".")
            return TypeAdapter(exact_group(getattr(import_module(module), name)))
    raise Refused(f"{method} {path} is not a request that this program makes")


def nested(pairs):
    """Groups and lists from names such as line_items[0][quantity]."""
    root = {}
    for name, value in pairs:
        first, *rest = re.findall(r"[^\[\]]+", name)
        group = root
        for part, following in zip([first, *rest], rest):
            group = group.setdefault(part, {})
        last = [first, *rest][-1]
        if last in group:
            raise Refused(f"{name} comes twice")
        group[last] = value
    return lists(root)


def lists(value):
    if not isinstance(value, dict):
        return value
    values = {name: lists(inner) for name, inner in value.items()}
    if values and list(values) == [str(index) for index in range(len(values))]:
        return list(values.values())
    return values


def same_text(given, understood, name):
    """Refuses a number or a truth value that is written in another way than Stripe's libraries write it."""
    if isinstance(understood, dict):
        for key, value in understood.items():
            same_text(given[key], value, f"{name}.{key}")
    elif isinstance(understood, list):
        for index, value in enumerate(understood):
            same_text(given[index], value, f"{name}.{index}")
    elif str(understood).lower() != given.lower() if isinstance(understood, bool) else str(understood) != given:
        raise Refused(f"{name}: {given} is understood as {understood}")


def judge(request, pairs):
    parameters = nested(pairs)
    try:
        understood = adapter(request["method"], request["path"]).validate_python(parameters)
    except ValidationError as error:
        raise Refused(str(error)) from error
    same_text(parameters, understood, "")


def judge_headers(request, versions):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d\.[a-z]+", request["stripe_version"] or ""):
        raise Refused(f"Stripe-Version: {request['stripe_version']}")
    versions.add(request["stripe_version"])
    if request["method"] == "POST" and not request["path"].endswith("/expire"):
        if not re.fullmatch(r"[\x21-\x7e]{1,255}", request["idempotency_key"] or ""):
            raise Refused(f"Idempotency-Key: {request['idempotency_key']}")
    if request["body"] and request["content_type"] != "application/x-www-form-urlencoded":
        raise Refused(f"Content-Type: {request['content_type']}")


def pairs_of(request):
    text = request["body"] if request["method"] == "POST" else request["query"]
    return parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))


REQUIRED = ("[currency]", "[name]")


def wrong_variants(pairs):
    """Requests that have to be refused: each differs from a good one in one place."""
    for index, (name, value) in enumerate(pairs):
        if "metadata" in name or name.startswith("expand"):
            continue
        end = "]" if name.endswith("]") else ""
        is_list = re.search(r"\[\d+\]$", name)
        other = name if is_list else name.removesuffix("]") + "x" + end
        if not is_list:
            yield f"{other} is misspelt", [*pairs[:index], (other, value), *pairs[index + 1 :]]
        if value.isdigit() and not name.endswith("id"):
            for fraction in (f"{value}.0", f"{value}.5"):
                yield f"{name}={fraction}", [*pairs[:index], (name, fraction), *pairs[index + 1 :]]
        group = name.rpartition("[")[0]
        if name.endswith(REQUIRED) and any(other.startswith(group) for other, _ in pairs if other != name):
            yield f"{name} is missing", [*pairs[:index], *pairs[index + 1 :]]


def main(path):
    with open(path) as file:
        requests = [json.loads(line) for line in file]
    versions, seen, wrong = set(), {}, 0
    for request in requests:
        pairs = pairs_of(request)
        try:
            judge(request, pairs)
            judge_headers(request, versions)
        except Refused as refused:
            sys.exit(f"{request}\n{refused}")
        route = re.sub(r"/\w+_\w{10,}", "/ID", f"{request['method']} {request['path']}")
        seen[route] = seen.get(route, 0) + 1
        if seen[route] > 20:
            continue
        for what, variant in wrong_variants(pairs):
            wrong += 1
            try:
                judge(request, variant)
            except Refused:
                continue
            sys.exit(f"The judge accepts a wrong request: {what}\n{request}")
    for needed in ("POST /v1/checkout/sessions", "POST /v1/checkout/sessions/ID/expire", "POST /v1/refunds"):
        if needed not in seen:
            sys.exit(f"There is no {needed}")
    if len(versions) != 1:
        sys.exit(f"The version differs: {versions}")
    for route, count in sorted(seen.items()):
        print(f"{count:5} {route}")
    print(f"Stripe's types accept these requests, and refuse {wrong} wrong ones")


main(sys.argv[1])
