#!/usr/bin/env python3
"""Prints the bill of materials of the program for a target, in CycloneDX 1.5 format: each linked crate
with its version, licence, digest and dependencies.

    python3 tools/release/bill_of_materials.py TARGET

The digests come from Cargo.lock. The output is reproducible: the serial number is derived from the
content, and the time is `SOURCE_DATE_EPOCH`, or omitted.
"""

import json
import pathlib
import sys
import tomllib

import plain_sbom
from linked import linked

ROOT = pathlib.Path(__file__).parent.parent.parent


def component_of(package, digests):
    name, version = package["name"], package["version"]
    # Old crates write `/` instead of OR.
    licence = (package["license"] or "").replace("/", " OR ")
    component = {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if licence:
        component["licenses"] = [{"expression": licence}]
    if digest := digests.get((name, version)):
        component["hashes"] = [{"alg": "SHA-256", "content": digest}]
    if package["repository"]:
        component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return component


def bill_of(target):
    packages, nodes = linked(target, ROOT / "crates/cli/Cargo.toml")
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    digests = {(it["name"], it["version"]): it.get("checksum") for it in locked}
    components = {it["id"]: component_of(it, digests) for it in packages}
    needs = []
    for node in nodes:
        if node["id"] not in components:
            continue
        normal = [it["pkg"] for it in node["deps"] if any(kind["kind"] is None for kind in it["dep_kinds"])]
        refs = sorted(components[it]["bom-ref"] for it in normal if it in components)
        needs.append({"ref": components[node["id"]]["bom-ref"], "dependsOn": refs})
    own = next(it for it in packages if it["name"] == "fpstore")
    program = components.pop(own["id"]) | {"type": "application", "description": own["description"]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program, "properties": [{"name": "cdx:rustc:sbom:target:triple", "value": target}]},
        "components": list(components.values()),
        "dependencies": sorted(needs, key=lambda it: it["ref"]),
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.buffer.write(plain_sbom.content_of(json.dumps(bill_of(sys.argv[1]))))
