#!/usr/bin/env python3
"""Writes package recipes of a release: for Homebrew and conda, which build the program from source,
and for Scoop on Windows.

    python3 tools/release/package_recipes.py DIST ADDRESS HOMEPAGE

DIST is the folder made by tools/release/release.sh; ADDRESS is the URL of its uploaded files, HOMEPAGE
the URL of the project. Digests come from DIST/SHA256SUMS, all other values from Cargo.toml. The recipes
are written to DIST/recipes. docs/releasing.md describes how to check each recipe.
"""

import json
import pathlib
import string
import sys
import tomllib

PACKAGE = tomllib.loads((pathlib.Path(__file__).parent.parent.parent / "Cargo.toml").read_text())["package"]
SOURCE = f"fpstore-{PACKAGE['version']}-source.tar.gz"
WINDOWS = f"fpstore-{PACKAGE['version']}-x86_64-pc-windows-gnu"

HOMEBREW = """\
class Fpstore < Formula
  desc "$description"
  homepage "$homepage"
  url "$address/$source"
  sha256 "$digest"
  license any_of: [$licences]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"fpstore", "completions")
    system bin/"fpstore", "man", "--quiet", buildpath/"man1"
    man1.install Dir["man1/*.1"]
  end

  test do
    (testpath/"docs.jsonl").write <<~DOCS
      {"id":"a","text":"one two three four five six"}
      {"id":"b","text":"one two three four five six!"}
    DOCS
    assert_match(/a.*b/, shell_output("#{bin}/fpstore pairs --docs docs.jsonl -k 12 --quiet"))
  end
end
"""

CONDA = """\
schema_version: 1

package:
  name: fpstore
  version: "$version"

source:
  url: $address/$source
  sha256: $digest

build:
  number: 0
  # With the compiler of Microsoft nobody has built it.
  skip: win
  script: cargo install --locked --no-track --path crates/cli --root $$PREFIX

requirements:
  build:
    - $${{ compiler("rust") }}
    - $${{ compiler("c") }}
    - $${{ stdlib("c") }}

tests:
  - script:
      - fpstore --version
      - fpstore help build

about:
  homepage: $homepage
  license: $license
  license_file: LICENSE
  summary: $description
"""


def scoop(address, homepage, digests):
    """The manifest of Scoop, which unpacks the archive for Windows."""
    manifest = {
        "version": PACKAGE["version"],
        "description": PACKAGE["description"],
        "homepage": homepage,
        "license": PACKAGE["license"].replace(" OR ", "|"),
        "architecture": {
            "64bit": {"url": f"{address}/{WINDOWS}.zip", "hash": digests[f"{WINDOWS}.zip"], "extract_dir": WINDOWS}
        },
        "bin": "fpstore.exe",
    }
    return json.dumps(manifest, indent=4) + "\n"


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    dist, address, homepage = pathlib.Path(sys.argv[1]), sys.argv[2].rstrip("/"), sys.argv[3]
    lines = (dist / "SHA256SUMS").read_text().splitlines()
    digests = {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}
    if SOURCE not in digests:
        print(f"package_recipes: {dist}/SHA256SUMS lacks {SOURCE}; make it with tools/release/release.sh", file=sys.stderr)
        return 2
    licences = ", ".join(f'"{licence}"' for licence in PACKAGE["license"].split(" OR "))
    of = PACKAGE | {
        "address": address, "homepage": homepage, "source": SOURCE, "digest": digests[SOURCE], "licences": licences
    }
    recipes = {
        "fpstore.rb": string.Template(HOMEBREW).substitute(of),
        "recipe.yaml": string.Template(CONDA).substitute(of),
    }
    if f"{WINDOWS}.zip" in digests:
        recipes["fpstore.json"] = scoop(address, homepage, digests)
    (dist / "recipes").mkdir(exist_ok=True)
    for name, text in recipes.items():
        (dist / "recipes" / name).write_text(text)
        print(dist / "recipes" / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
