#!/usr/bin/env python3
"""Judges the pairs of a page of 'fpstore pairs --html' like a person, by keys and by buttons, in
headless Chromium: judgements survive a reload, and the saved file has each of them once.

    python3 tools/pages/check_judge.py PAGE.html LABELS.tsv

LABELS is the file saved by the browser, for 'fpstore evaluate'. Needs a browser, see
tools/pages/check_page.py.
"""

import pathlib
import sys
import tempfile
import time

from browser import start
from check_groups import key

STATUS = "return document.getElementById('judged').textContent"
NAMES = "return [...document.querySelectorAll('article')].map(box => box.dataset.name)"
PRESSED = """
return [...document.querySelectorAll('article')].map(box =>
  [...box.querySelectorAll('.choices [aria-pressed=true]')].map(button => button.value).join());
"""


def check(browser, page, folder):
    browser.download_to(folder)
    browser.open(page.resolve().as_uri())
    count = int(browser.run(STATUS).split()[2])
    assert browser.run(STATUS) == f"0 of {count} judged" and count > 20, browser.run(STATUS)
    assert browser.run("return document.getElementById('save').disabled")
    expected = {}
    # Judges all pairs by keys, also the pairs on the next page; no pair is skipped.
    for number in range(count):
        here = browser.run(
            "const boxes = [...document.querySelectorAll('article')];"
            "const now = boxes.find(box => box.contains(document.activeElement));"
            "return (now ?? boxes[0]).dataset.name"
        )
        name = "ydu"[number % 3]
        key(browser, name)
        assert here not in expected, f"{here} came twice"
        expected[here] = {"y": "1", "d": "0", "u": "-1"}[name]
    assert browser.run(STATUS) == f"{count} of {count} judged", browser.run(STATUS)

    # Changes one judgement and withdraws another one, by buttons.
    browser.call("POST", "/refresh", {})
    assert browser.run(STATUS) == f"{count} of {count} judged", "the browser kept them"
    names = browser.run(NAMES)
    assert browser.run(PRESSED) == [expected[name] for name in names]
    press = "document.querySelectorAll('article')[arguments[0]].querySelector(`[value='${arguments[1]}']`).click()"
    other = "1" if expected[names[0]] == "0" else "0"
    browser.run(press, 0, other)
    browser.run(press, 1, expected[names[1]])
    expected[names[0]] = other
    del expected[names[1]]
    assert browser.run(STATUS) == f"{count - 1} of {count} judged"

    browser.run("document.getElementById('save').click()")
    saved = folder / "labels.tsv"
    for _ in range(100):
        # Firefox reserves the name with an empty file until the download is complete.
        if saved.exists() and saved.stat().st_size > 0 and not list(folder.glob("*.part")):
            break
        time.sleep(0.1)
    lines = saved.read_text(encoding="utf-8").splitlines()
    found = dict(line.rsplit("\t", 1) for line in lines)
    assert len(lines) == len(found) and found == expected, "what was saved is not what was judged"
    faults = browser.log()
    assert not faults, faults
    return count, saved


def main():
    page, labels = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        browser = start(pathlib.Path(name) / "profile")
        try:
            count, saved = check(browser, page, pathlib.Path(name))
            labels.write_bytes(saved.read_bytes())
        finally:
            browser.close()
    print(f"{page.name}: {count} pairs judged, kept and saved")


if __name__ == "__main__":
    main()
