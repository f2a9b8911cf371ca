#!/usr/bin/env python3
"""Uses a page of 'fpstore cluster --html' like a reader, in headless Chromium: searches, pages,
unfolds, navigates by keys and links, and compares each text on the page with its source document.

    python3 tools/pages/check_groups.py PAGE.html DOCS.jsonl ROWS.tsv

DOCS has the texts of the ids, ROWS is the TSV of the same 'fpstore cluster'. Needs a browser, see
tools/pages/check_page.py.
"""

import collections
import json
import pathlib
import sys
import tempfile
import time

from browser import start

# Returns all displayed documents, after opening all folds. `text` is the text without the words
# marked as removed, `old` the text without the words marked as added.
READ = """
for (let more; (more = document.querySelector('#groups .fold, #groups button.more:not([aria-expanded=true])'));) more.click();
const without = (box, names) => {
  const copy = box.cloneNode(true);
  copy.querySelectorAll(names).forEach(each => each.remove());
  return copy.textContent;
};
return [...document.querySelectorAll('article')].map(box => ({
  name: box.querySelector('h2 a').textContent,
  number: box.querySelector('h2 [title]').textContent,
  documents: [...box.querySelectorAll('.documents > li')].map(row => ({
    id: row.querySelector('.id').textContent,
    fingerprint: row.querySelector('code').textContent,
    badges: [...row.querySelectorAll('.badge')].map(each => each.textContent),
    same: [...row.querySelectorAll('.soft')].some(each => each.textContent.startsWith('the same text')),
    text: row.querySelector('.text') ? without(row.querySelector('.text'), 'del') : null,
    old: row.querySelector('.text') ? without(row.querySelector('.text'), 'ins') : null,
    marks: row.querySelectorAll('ins, del').length,
  })),
}));
"""



def key(browser, name):
    """Sends a key press through the browser's keyboard input."""
    action = {"type": "key", "id": "keyboard", "actions": [{"type": "keyDown", "value": name}, {"type": "keyUp", "value": name}]}
    browser.call("POST", "/actions", {"actions": [action]})
    return browser.run("return document.activeElement.id")


def bare(text):
    """A text without its white space, which is ignored in comparisons."""
    return "".join(text.split())


def find(browser, text):
    browser.run(
        "const find = document.getElementById('find'); find.value = arguments[0];"
        "find.dispatchEvent(new Event('input'));",
        text,
    )
    time.sleep(0.4)
    return browser.run("return document.getElementById('status').textContent").replace("\u00a0", " ")


def check(browser, page, docs, rows):
    texts = {}
    for line in docs.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        texts[record["id"]] = record["text"]
    groups = collections.defaultdict(list)
    for line in rows.read_text(encoding="utf-8").rstrip("\n").split("\n"):
        number, _, _, distance, fingerprint, name = line.split("\t", 5)
        groups[number].append((name, fingerprint, distance))
    order = sorted(groups, key=lambda number: (-len(groups[number]), int(number)))

    browser.view(1280, 900)
    browser.open(page.resolve().as_uri())
    seen = 0
    pages = browser.run("return document.querySelector('.pager input')?.max ?? 1")
    for number in range(int(pages)):
        for shown in browser.run(READ):
            name = order[seen]
            seen += 1
            assert shown["name"].replace("\u00a0", "") == f"Group {seen}", (shown["name"], seen)
            assert shown["number"].replace("\u00a0", "") == f"number {name}", (shown["number"], name)
            first = None
            for (identity, fingerprint, distance), row in zip(groups[name], shown["documents"], strict=True):
                assert (row["id"], row["fingerprint"]) == (identity, fingerprint), (row, identity)
                text = texts[identity]
                if first is None:
                    first = text
                    assert row["badges"][0] == "representative" and row["text"] == text, identity
                    continue
                assert row["badges"][0].split("\u00a0")[0] == distance, row
                if row["same"]:
                    assert bare(text) == bare(first) and row["text"] is None, identity
                else:
                    assert bare(row["text"]) == bare(text), f"{identity}: {row['text']!r} is not {text!r}"
                    assert row["old"] == first, f"{identity}: without additions it is not the first text"
                    assert row["marks"] > 0, identity
        if number + 1 < int(pages):
            browser.run("document.querySelector('.pager button:last-child').click()")
    assert seen == len(order), f"{seen} of {len(order)} groups were shown"

    # Searches for an id, for a word of a text, for words that no group contains, and with an empty
    # search field, which shows all groups.
    some = order[len(order) // 2]
    identity = groups[some][-1][0]
    assert "1 group of" in find(browser, identity) or identity in "".join(name for name, *_ in sum(groups.values(), []))
    names = browser.run("return [...document.querySelectorAll('article')].map(each => each.id)")
    assert f"group-{some}" in names, (some, names)
    word = max(texts[groups[some][-1][0]].split()[:6], key=len).upper()
    assert find(browser, word) != "No group has this.", word
    assert find(browser, "\u2603 no such words") == "No group has this."
    assert browser.run("return document.querySelectorAll('article').length") == 0
    assert find(browser, "").startswith(f"{len(order):,}".replace(",", " ") + " group")

    # Changes the sort order, and filters for groups whose documents differ.
    choose = "const it = document.getElementById(arguments[0]); it.value = arguments[1]; it.dispatchEvent(new Event('change'));"
    browser.run(choose, "order", "number")
    lowest = min(int(number) for number in groups)
    assert browser.run("return document.querySelector('article').id") == f"group-{lowest}"
    browser.run(choose, "order", "size")
    browser.run("document.getElementById('differing').click()")
    browser.run("document.getElementById('differing').click()")

    # Keys move into and out of the search field, between groups, and between pages.
    browser.run("document.activeElement.blur()")
    assert key(browser, "/") == "find"
    assert key(browser, "j") == "find", "letters that are typed are no commands"
    key(browser, "\ue00c")
    find(browser, "")
    browser.run("document.activeElement.blur()")
    assert key(browser, "j") == f"group-{order[0]}"
    if len(order) > 1:
        assert key(browser, "j") == f"group-{order[1]}"
        assert key(browser, "k") == f"group-{order[0]}"
    if len(order) > 20:
        key(browser, "n")
        assert browser.run("return document.querySelector('article').id") == f"group-{order[20]}"
        assert key(browser, "k") == f"group-{order[19]}", "the last group of the page before"
        # Opens a link to a group, which may be on another page.
        last = order[-1]
        browser.run("location.hash = arguments[0]", f"#group-{last}")
        time.sleep(0.3)
        assert browser.run("return document.activeElement.id") == f"group-{last}"

    # Every control is reachable by keyboard and has a name.
    unnamed = browser.run(
        "return [...document.querySelectorAll('button, input, select, a')].filter(each => "
        "each.tabIndex < 0 || !(each.textContent.trim() || each.labels?.length || each.getAttribute('aria-label')))"
        ".map(each => each.outerHTML.slice(0, 80))"
    )
    assert not unnamed, unnamed
    # No text of a document became an element or a running script.
    assert browser.run("return window.ran === undefined && !document.querySelector('main img, main script, main b')")
    addresses = browser.run("return [...document.querySelectorAll('a')].map(each => each.protocol)")
    assert set(addresses) <= {"https:", "http:", "file:"}, addresses
    log = browser.log()
    assert not log, log
    return seen


def main():
    page, docs, rows = map(pathlib.Path, sys.argv[1:4])
    with tempfile.TemporaryDirectory() as profile:
        browser = start(profile)
        try:
            seen = check(browser, page, docs, rows)
        finally:
            browser.close()
    print(f"{page.name}: {seen} groups read, found, and visited by keys")


if __name__ == "__main__":
    main()
