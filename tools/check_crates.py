"""Checks the crates of other people against deny.toml: licences, bans, duplicates, sources.

It reads the same policy as `cargo deny check`, which takes minutes to build, and needs no network.
Advisories need the network:

    cargo install --locked cargo-deny && cargo deny check

    python3 tools/check_crates.py
"""

import collections
import json
import re
import subprocess
import sys
import tomllib

policy = tomllib.load(open("deny.toml", "rb"))
output = subprocess.run(["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"],
                        check=True, capture_output=True, text=True).stdout
metadata = json.loads(output)
packages = {package["id"]: package for package in metadata["packages"]}
foreign = [package for package in packages.values() if package["source"]]
faults = []
used = set()


def name_of(package):
    return f"{package['name']} {package['version']}"


def is_allowed(expression, allowed):
    """Whether an SPDX expression can be met with the allowed licences; `/` is an old `OR`."""
    tokens = re.findall(r"[()]|[^\s()/]+", expression.replace("/", " OR "))

    def either():
        met = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = both() or met
        return met

    def both():
        met = licence()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = licence() and met
        return met

    def licence():
        token = tokens.pop(0)
        if token == "(":
            met = either()
            tokens.pop(0)
            return met
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            token += " WITH " + tokens.pop(0)
        return token in allowed

    return either()


def is_version(version, wanted):
    return version == wanted or version.startswith(wanted + ".")


exceptions = {of["crate"]: of["allow"] for of in policy["licenses"]["exceptions"]}
for package in foreign:
    allowed = policy["licenses"]["allow"]
    if not is_allowed(package["license"] or "none", allowed):
        used.add(package["name"])
        if not is_allowed(package["license"] or "none", allowed + exceptions.get(package["name"], [])):
            faults.append(f"{name_of(package)}: the licence {package['license']} is not allowed")
    if package["name"] in policy["bans"]["deny"]:
        faults.append(f"{name_of(package)} is banned")
    registries = ["registry+" + registry for registry in policy["sources"]["allow-registry"]]
    if package["source"] not in registries:
        faults.append(f"{name_of(package)} is from {package['source']}")

versions = collections.defaultdict(list)
for package in foreign:
    versions[package["name"]].append(package["version"])
for name, found in versions.items():
    skipped = set()
    for skip in policy["bans"]["skip"]:
        skipped_name, _, wanted = skip["crate"].partition("@")
        if skipped_name == name and len(found) > 1:
            matching = {version for version in found if is_version(version, wanted)}
            skipped |= matching
            used.update({skip["crate"]} if matching else set())
    if len(set(found) - skipped) > 1:
        faults.append(f"{name} is there more than once: {', '.join(sorted(found))}")

# A policy says no more than it must.
for entry in list(exceptions) + [skip["crate"] for skip in policy["bans"]["skip"]]:
    if entry not in used:
        faults.append(f"deny.toml makes an exception for {entry}, which needs none")

for package in packages.values():
    for dependency in package["dependencies"]:
        if not package["source"] and dependency["req"] == "*" and not dependency.get("path"):
            faults.append(f"{package['name']} takes any version of {dependency['name']}")

for fault in sorted(faults):
    print(fault, file=sys.stderr)
print(f"{len(foreign)} crates of other people, {len(faults)} faults")
sys.exit(bool(faults))
