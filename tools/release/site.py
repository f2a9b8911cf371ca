#!/usr/bin/env python3
"""Builds a site of the Markdown pages with mdBook: search, light and dark, one page for printing.

    python3 tools/release/site.py FOLDER             # the site, and a check of all its links
    python3 tools/release/site.py FOLDER --look      # and of its pages in a browser, 360 and 1280 pixels wide

The sections and their order come from docs/README.md. Pages keep their paths, so that links between
them work; a link to a file that is not a page is replaced by its text. MDBOOK is the path of an
installed mdBook; by default, `cargo install` puts one into target/tools. --look needs a browser, see
tools/pages/check_page.py.
"""

import argparse
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERSION = "0.5.4"
SHELVES = "docs/README.md"
FENCE = re.compile(r"^\s*(```|~~~)")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)", re.S)
ITEM = re.compile(r"^\* (.*(?:\n  .*)*)", re.M)
BOOK = """
[book]
title = "fpstore"
description = "Near-duplicates by 64-bit fingerprints: exact, compressed, on disk"
language = "en"
src = "src"

[output.html]
smart-punctuation = false
no-section-label = true

[output.html.search]
limit-results = 30
"""


def mdbook():
    named = os.environ.get("MDBOOK") or shutil.which("mdbook")
    if named:
        return named
    tools = ROOT / "target/tools"
    program = tools / "bin/mdbook"
    if not program.exists():
        command = ["cargo", "install", "--locked", "--quiet", "--root", tools, f"mdbook@{VERSION}"]
        subprocess.run(command, check=True)
    return str(program)


def links(text):
    """The relative links of a page: text, and path without the fragment."""
    for _, name, target in LINK.findall(text):
        if "://" not in target and not target.startswith(("#", "mailto:")):
            yield " ".join(name.split()), target.partition("#")[0]


def place(page, target):
    """The path, relative to the project, of the target of a link on a page."""
    return pathlib.Path(os.path.normpath(page.parent / target))


def shelves():
    """The pages by section, in the order of the overview page."""
    text = (ROOT / SHELVES).read_text(encoding="utf-8")
    found, seen = [], {"README.md"}
    for part in re.split(r"^\*\*(.+)\*\*$", text, flags=re.M)[1:]:
        if "\n" not in part:
            found.append((part, []))
            continue
        for item in ITEM.findall(part):
            for name, target in links(item):
                page = place(pathlib.Path(SHELVES), target)
                if page.suffix == ".md" and str(page) not in seen:
                    seen.add(str(page))
                    found[-1][1].append((name, page))
    return found, seen


def title(page):
    """The heading of a page."""
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return page.stem


def stage(folder):
    """Copies the pages, and the files that they embed, to a folder for mdBook."""
    found, seen = shelves()
    rest = []
    waiting = [pathlib.Path("README.md"), pathlib.Path(SHELVES)]
    waiting += [page for _, pages in found for _, page in pages]
    copied = set()
    while waiting:
        page = waiting.pop(0)
        if page in copied:
            continue
        copied.add(page)
        text = (ROOT / page).read_text(encoding="utf-8")
        for _, target in links(text):
            other = place(page, target)
            if other.suffix == ".md" and (ROOT / other).is_file() and other not in copied:
                waiting.append(other)
                if str(other) not in seen and str(other) != SHELVES:
                    seen.add(str(other))
                    rest.append((title(other), other))
        goal = folder / "src" / page
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.write_text(without_sources(page, text, folder), encoding="utf-8")
    lines = ["# Summary", "", "[fpstore](README.md)", f"[All pages]({SHELVES})"]
    for name, pages in [*found, ("More", rest)]:
        lines += ["", f"# {name}", ""]
        # Link texts from inside a sentence begin with a small letter.
        lines += [f"- [{text[:1].upper()}{text[1:]}]({page.as_posix()})" for text, page in pages]
    (folder / "src/SUMMARY.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "book.toml").write_text(BOOK.lstrip(), encoding="utf-8")


def without_sources(page, text, folder):
    """The text of a page; links to files that are not pages are replaced by their text."""

    def changed(link):
        picture, name, target = link.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return link[0]
        path = place(page, target.partition("#")[0])
        if picture:
            goal = folder / "src" / path
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, goal)
            return link[0]
        if path.name == "README.md":
            # mdBook renames README.md to index.html.
            return f"[{name}]({target.replace('README.md', 'index.html')})"
        return link[0] if path.suffix == ".md" else name

    parts, is_code = [[]], False
    for line in text.splitlines(keepends=True):
        is_fence = bool(FENCE.match(line))
        if is_fence and not is_code:
            parts.append([])
        parts[-1].append(line)
        if is_fence and is_code:
            parts.append([])
        is_code ^= is_fence
    return "".join(
        "".join(part) if number % 2 else LINK.sub(changed, "".join(part))
        for number, part in enumerate(parts)
    )


class Anchors(html.parser.HTMLParser):
    """The links and the anchors of a page of the site."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            if name in ("href", "src") and value:
                self.links.append(value)


def check_links(site):
    """The broken links of all pages."""
    pages = {path: Anchors(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    faults = []
    for path, page in pages.items():
        if path.name in ("404.html", "toc.html", "print.html"):
            continue
        for link in page.links:
            if "://" in link or link.startswith(("data:", "mailto:", "javascript:")):
                continue
            target, _, anchor = urllib.parse.unquote(link).partition("#")
            goal = pathlib.Path(os.path.normpath(path.parent / target)) if target else path
            if goal.is_dir():
                goal /= "index.html"
            if not goal.exists():
                faults.append(f"{path.relative_to(site)}: {link} is not there")
            elif anchor and goal in pages and anchor not in pages[goal].anchors:
                faults.append(f"{path.relative_to(site)}: {link} has no such heading")
    return len(pages), faults


# Returns the faults of a page (scrolls sideways, no heading), and its background colour.
WIDE = """
const html = document.documentElement;
return [html.scrollWidth > html.clientWidth && `scrolls sideways: ${html.scrollWidth} > ${html.clientWidth}`,
  !document.querySelector('main h1') && 'has no heading',
  getComputedStyle(html).backgroundColor,
].filter(Boolean);
"""


def look(site):
    """The rendering faults in a browser, wide and narrow, light and dark."""
    from check_page import Browser

    faults = []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        try:
            for path in sorted(site.rglob("*.html")):
                if path.name in ("404.html", "toc.html", "print.html"):
                    continue
                for width in (360, 1280):
                    paper = set()
                    for theme in ("light", "dark"):
                        browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800,
                                         deviceScaleFactor=1, mobile=width < 500)
                        scheme = [{"name": "prefers-color-scheme", "value": theme}]
                        browser.devtools("Emulation.setEmulatedMedia", features=scheme)
                        browser.call("POST", "/url", {"url": path.resolve().as_uri()})
                        *seen, color = browser.run(WIDE)
                        paper.add(color)
                        faults += [f"{path.relative_to(site)}, {width}, {theme}: {fault}" for fault in seen]
                    if len(paper) < 2:
                        faults.append(f"{path.relative_to(site)}: dark looks like light")
        finally:
            browser.close()
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--look", action="store_true", help="also check the pages in a browser")
    options = parser.parse_args()
    site = options.folder.resolve()
    if site.exists() and any(site.iterdir()):
        sys.exit(f"site: {site} is not empty")
    with tempfile.TemporaryDirectory() as name:
        book = pathlib.Path(name)
        stage(book)
        subprocess.run([mdbook(), "build", book, "--dest-dir", site], check=True)
    count, faults = check_links(site)
    if options.look:
        faults += look(site)
    for fault in faults:
        print(f"site: {fault}", file=sys.stderr)
    print(f"{count} pages in {site}, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
