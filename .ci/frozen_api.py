"""Prints the public API of a crate, one line for each item, from the JSON that rustdoc writes (format 50 or newer)."""

import json
import sys

crate = json.load(open(sys.argv[1]))
index, paths = crate["index"], crate["paths"]
lines = set()
# The shortest path under which programs name an item of this crate, whose own path may be private.
public = {}


def name_of(item_id):
    if item_id in public:
        return public[item_id]
    item = paths.get(str(item_id)) or index.get(str(item_id))
    return "::".join(item["path"]) if "path" in item else item["name"] or "_"


def plain(value):
    """A type or signature without what changes from build to build: numbers of items, places in files, and documentation."""
    if isinstance(value, dict):
        if "id" in value and "path" in value:
            value = {**value, "path": name_of(value["id"])}
        return {key: plain(part) for key, part in value.items() if key not in ("id", "span", "links", "docs", "impls", "implementations")}
    return [plain(part) for part in value] if isinstance(value, list) else value


def show(path, item, seen=frozenset()):
    """Prints an item and what is in it. `seen` are the modules above it, because re-exports may form a circle."""
    (kind, inner), = item["inner"].items()
    if kind == "use":
        target = index.get(str(inner["id"]))
        if target is None or inner["id"] in seen:
            lines.add(f"{path}::{inner['name']} use {inner['source']}")
        elif inner["is_glob"]:
            children(path, target["inner"].get("module", {}).get("items", []), seen | {inner["id"]})
        else:
            show(f"{path}::{inner['name']}", target, seen | {inner["id"]})
        return
    public[item["id"]] = min(public.get(item["id"], path), path, key=lambda path: (path.count("::"), path))
    parts = {key: part for key, part in inner.items() if isinstance(part, list) and key in ("items", "variants", "impls")}
    signature = {key: part for key, part in plain(inner).items() if key not in parts} if isinstance(inner, dict) else plain(inner)
    fields = []
    if kind in ("struct", "variant"):
        shape = inner["kind"]
        (_, members), = shape.items() if isinstance(shape, dict) else [("plain", [])]
        fields = members["fields"] if isinstance(members, dict) else [field for field in members if field is not None]
        signature["kind"] = list(shape) if isinstance(shape, dict) else shape
    attributes = sorted(str(attribute) for attribute in item["attrs"] if "automatically_derived" not in str(attribute))
    lines.add(f"{path} {kind} {json.dumps(signature, sort_keys=True)} {attributes or ''}".rstrip())
    children(path, fields + parts.get("items", []) + parts.get("variants", []), seen | {item["id"]})
    for block in parts.get("impls", []):
        block = index[str(block)]["inner"]["impl"]
        if block["trait"] is None:
            children(path, block["items"], seen)
        elif not block["is_synthetic"] and block["blanket_impl"] is None:
            lines.add(f"{path} impl {name_of(block['trait']['id'])} {json.dumps(plain(block['trait']['args']), sort_keys=True)}")


def children(path, items, seen):
    for child in items:
        child = index.get(str(child))
        if child and child["visibility"] in ("public", "default"):
            is_use = "use" in child["inner"]
            show(path if is_use else f"{path}::{child['name']}", child, seen)


root = index[str(crate["root"])]
# The first time only to learn the public paths.
for _ in range(2):
    lines.clear()
    children(root["name"], root["inner"]["module"]["items"], frozenset())
print("\n".join(sorted(lines)))
