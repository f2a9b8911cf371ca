#!/usr/bin/env python3
"""Uses the page of 'fpstore serve' in headless Chromium like a person, wide and narrow, light and dark.

It queries by fingerprint, by text and by file, for all matches within k and for the nearest, and
compares the page with the answers of the server. It fails on any message in the console of the browser,
on a request to another origin, on a page that scrolls sideways, on text with low contrast to its
background, on a dark page that looks like the light one, and on an id that is parsed as markup.

    python3 tools/pages/check_serve_page.py [--pictures DIR]

FPSTORE_BIN is the path of the program; by default it is built. Needs a browser and its driver, see
tools/pages/browser.py.
"""

import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from browser import start
from check_page import SIZES, THEMES

EVIL = "<img src=x onerror=alert(1)>"
SCRIPT_LINK = "javascript:alert(1)"
QUERY = "c0f1789bed2eb9b8"
STORED = {
    "c0f1789bed2eb9b8": ["https://example.org/a"],
    "c0f1789bed2eb9b9": [EVIL, SCRIPT_LINK],
    "c0f1789bed2eb9bb": ["b"],
}

PROBE = """
const rgb = text => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
const ground = element => {
  for (let at = element; at; at = at.parentElement) {
    const colour = rgb(getComputedStyle(at).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const faint = [...document.querySelectorAll('body *')].filter(element => {
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!own || !element.getClientRects().length) return false;
  const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
}).map(element => element.outerHTML.slice(0, 90));
const unnamed = [...document.querySelectorAll('input, select, textarea, button')].filter(element =>
  !element.labels?.length && !element.getAttribute('aria-label') && !element.textContent.trim());
const body = getComputedStyle(document.body);
const visible = id => { const e = document.getElementById(id); return e && !e.hidden ? e.textContent : null; };
return {
  faint, unnamed: unnamed.map(element => element.outerHTML),
  scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth,
  paper: body.backgroundColor, ink: body.color,
  requests: performance.getEntriesByType('resource').map(entry => entry.name),
  store: visible('store'), summary: visible('answer') ? visible('summary') : null, problem: visible('problem'),
  matches: [...document.querySelectorAll('#matches > li')].map(item => ({
    fingerprint: item.querySelector('.hex').textContent,
    distance: parseInt(item.querySelector('.distance').textContent),
    marked: item.querySelectorAll('.bits b').length,
    bits: item.querySelector('.bits').textContent.replaceAll(' ', ''),
    ids: [...item.querySelectorAll('.ids > li')].map(id => id.textContent),
    links: [...item.querySelectorAll('.ids a')].map(link => link.href),
    pictures: [...item.querySelectorAll('.ids img')].map(picture => picture.getAttribute('src')),
  })),
  plan: [...document.querySelectorAll('#tables tr')].length,
  markup: document.querySelectorAll('#matches img[onerror]').length,
};
"""


class Server:
    """A server with its own store, at a free port."""

    def __init__(self, program, store, *options):
        command = [program, "serve", "-s", str(store), "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline().strip()
        self.url = "http://" + line.rsplit(" at http://", 1)[-1]

    def ask(self, path, body=None, kind=None):
        request = urllib.request.Request(self.url + path, body, {"Content-Type": kind} if kind else {})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def end(self):
        self.process.terminate()
        return self.process.wait()


def fill(browser, **values):
    """Fills in the form, submits it, and waits for the answer."""
    browser.run(
        "const values = " + json.dumps(values) + """;
        for (const [id, value] of Object.entries(values)) {
          if (id === 'by') document.querySelector(`input[value=${value}]`).click();
          else {
            const field = document.getElementById(id);
            field.value = value;
            field.dispatchEvent(new Event('change', { bubbles: true }));
          }
        }
        document.getElementById('answer').hidden = true;
        document.getElementById('problem').hidden = true;
        document.querySelector('button').click();"""
    )
    for _ in range(200):
        seen = browser.run(PROBE)
        if seen["summary"] is not None or seen["problem"] is not None:
            return seen
        time.sleep(0.05)
    sys.exit("check_serve_page: the page showed no answer")


class Faults(list):
    def expect(self, holds, what):
        if not holds:
            self.append(what)


def same(seen, answer):
    """Whether the page shows the same matches as the answer of the server."""
    shown = [(m["fingerprint"], m["distance"], m["ids"]) for m in seen["matches"]]
    return shown == [(m["fingerprint"], m["distance"], m["ids"]) for m in answer["matches"]]


def use_fingerprints(browser, server, faults):
    seen = fill(browser, fingerprint=QUERY, which="near", k="3")
    answer = server.ask(f"/v1/query?fingerprint={QUERY}&k=3")
    faults.expect(len(answer["matches"]) == 3 and same(seen, answer), f"shows {seen['matches']}")
    for match in seen["matches"]:
        value = int(match["fingerprint"], 16)
        faults.expect(match["bits"] == f"{value:064b}", f"bits of {match['fingerprint']}")
        faults.expect(match["marked"] == match["distance"], "not the bits that differ are marked")
    links = [link for match in seen["matches"] for link in match["links"]]
    faults.expect(links == ["https://example.org/a"] + links[1:], f"links {links}")
    faults.expect(not any(link.startswith("javascript:") for link in links), "a link runs a script")
    pictures = [picture for match in seen["matches"] for picture in match["pictures"]]
    wanted = [f"{server.url}/page.css?{urllib.parse.quote(i, safe='')}" for ids in STORED.values() for i in ids]
    faults.expect(len(pictures) == len(wanted), f"pictures {pictures}")
    faults.expect(seen["markup"] == 0, "an id became markup")
    faults.expect(seen["plan"] > 1, "no plan is shown")
    nearest = fill(browser, which="nearest", count="2")
    answer = server.ask(f"/v1/nearest?fingerprint={QUERY}&count=2")
    faults.expect(same(nearest, answer), f"nearest shows {nearest['matches']}")
    wrong = fill(browser, fingerprint="no hex")
    faults.expect(wrong["problem"] and "hex" in wrong["problem"], f"problem: {wrong['problem']}")
    none = fill(browser, fingerprint="0", which="near", k="0")
    faults.expect((none["summary"] or "").startswith("Nothing"), f"summary: {none['summary']}")
    seen = browser.run("document.getElementById('nearest').click()")
    seen = wait(browser, lambda it: (it["summary"] or "").startswith("1 match") or it["matches"])
    faults.expect(seen["matches"] and "count=" in at(browser), "the nearest are not shown instead")
    use_addresses(browser, server, faults)
    fill(browser, by="fingerprint", fingerprint=QUERY, which="near", k="3")


def at(browser):
    """The query part of the page's address."""
    return browser.run("return location.search")


def wait(browser, holds):
    """What the page shows once the condition holds, or after ten seconds."""
    for _ in range(200):
        seen = browser.run(PROBE)
        if holds(seen):
            break
        time.sleep(0.05)
    return seen


def use_addresses(browser, server, faults):
    """Goes back, forward and to an address, queries by id, and uses keys."""
    fill(browser, by="fingerprint", fingerprint=QUERY, which="near", k="3")
    first = at(browser)
    faults.expect(first == f"?fingerprint={QUERY}&k=3", f"the address is {first}")
    fill(browser, by="id", id="b", k="0")
    faults.expect(at(browser) == "?id=b&k=0", f"the address is {at(browser)}")
    browser.run("history.back()")
    seen = wait(browser, lambda it: len(it["matches"]) == 3)
    faults.expect(len(seen["matches"]) == 3 and at(browser) == first, "Back shows another answer")
    browser.call("POST", "/refresh", {})
    seen = wait(browser, lambda it: len(it["matches"]) == 3)
    faults.expect(len(seen["matches"]) == 3, "a reload loses the answer")
    browser.open(server.url + "/?id=b&k=0")
    seen = wait(browser, lambda it: it["matches"])
    found = [match["fingerprint"] for match in seen["matches"]]
    faults.expect(found == ["c0f1789bed2eb9bb"], f"the address of an id shows {found}")
    seen = fill(browser, id="nobody")
    faults.expect("nobody" in (seen["problem"] or ""), f"an unknown id: {seen['problem']}")
    seen = fill(browser, by="fingerprint", fingerprint="qts-1")
    faults.expect("instead" in (seen["problem"] or ""), f"no way to the id: {seen['problem']}")
    browser.open(server.url + "/")
    focus = browser.run("return matchMedia('(pointer: coarse)').matches || document.activeElement.id")
    faults.expect(focus in (True, "fingerprint"), f"the focus is at {focus}")
    wait(browser, lambda it: "generation" in (it["store"] or ""))
    browser.run("const it = document.getElementById('fingerprint'); it.value = arguments[0]; it.focus();"
                "it.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true}))", QUERY)
    seen = wait(browser, lambda it: it["matches"])
    faults.expect(seen["matches"], "Ctrl+Enter does not ask")
    browser.run("document.activeElement.blur();"
                "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}))")
    faults.expect(browser.run("return document.activeElement.closest('#matches') !== null"), "j leads to no match")


def use_texts(browser, server, text, page, faults):
    seen = fill(browser, by="text", text=text, which="near", k="8")
    answer = server.ask("/v1/text?k=8", text.encode(), "text/plain")
    faults.expect(answer["matches"] and same(seen, answer), f"text shows {seen['matches']}")
    browser.run("document.querySelector('input[value=file]').click()")
    field = browser.call("POST", "/element", {"using": "css selector", "value": "#file"})
    element = next(iter(field.values()))
    browser.call("POST", f"/element/{element}/value", {"text": str(page)})
    seen = fill(browser, by="file", which="nearest", count="1")
    answer = server.ask("/v1/text?count=1", page.read_bytes(), "text/html")
    faults.expect(answer["matches"] and same(seen, answer), f"file shows {seen['matches']}")


def look(browser, name, picture, faults):
    seen = browser.run(PROBE)
    faults.expect(seen["scroll"] <= seen["client"], f"scrolls sideways: {seen['scroll']}")
    faults.extend(f"hard to read: {element}" for element in seen["faint"])
    faults.extend(f"without a name: {element}" for element in seen["unnamed"])
    if picture:
        shot = browser.call("GET", "/screenshot")
        picture.mkdir(parents=True, exist_ok=True)
        (picture / f"{name}.png").write_bytes(base64.b64decode(shot))
    return seen


def check(browser, server, name, use, picture):
    """The faults of the page that a server delivers."""
    faults, grounds = Faults(), {}
    for size, (width, height) in SIZES.items():
        for theme in THEMES:
            browser.view(width, height, theme)
            browser.open(server.url + "/")
            for _ in range(100):
                if "generation" in (browser.run(PROBE)["store"] or ""):
                    break
                time.sleep(0.05)
            else:
                faults.append("the page says nothing of the store")
            use(faults)
            seen = look(browser, f"{name}-{size}-{theme}", picture, faults)
            grounds[theme] = (seen["paper"], seen["ink"])
            away = [at for at in seen["requests"] if not at.startswith((server.url, "data:"))]
            faults.extend(f"asks another place: {at}" for at in away if not at.startswith("https://pictures.invalid"))
    faults.expect(grounds["light"] != grounds["dark"], "the dark page looks like the light one")
    # The console also logs refused requests, and this check makes one on purpose.
    loud = [message for message in browser.log() if "400 (Bad Request)" not in message]
    faults.extend(f"console: {message}" for message in loud)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    program = os.environ.get("FPSTORE_BIN")
    if not program:
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet"], check=True)
        program = "target/release/fpstore"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = "".join(f"{hex}\t{i}\n" for hex, ids in STORED.items() for i in ids)
        store, documents = folder / "near.fps", folder / "documents.fps"
        subprocess.run([program, "build", "-", "-s", store, "-q"], input=lines, text=True, check=True)
        texts = folder / "texts"
        texts.mkdir()
        text = " ".join(f"word{number * number % 997}" for number in range(300))
        (texts / "one.txt").write_text(text)
        page = folder / "page.html"
        page.write_text(f"<title>A page</title><body><p>{text}</p></body>")
        subprocess.run([program, "build", "--docs", texts, "-s", documents, "-q"], check=True)
        browser = start(folder / "profile")
        # Pictures are requested from this server, which answers with its style sheet instead.
        near = Server(program, store, "--link", "{id}", "--image", "/page.css?{id}")
        by_text = Server(program, documents)
        try:
            faults = {
                "fingerprints": check(browser, near, "fingerprints",
                                      lambda found: use_fingerprints(browser, near, found),
                                      options.pictures),
                "texts": check(browser, by_text, "texts",
                               lambda found: use_texts(browser, by_text, text, page, found),
                               options.pictures),
            }
        finally:
            browser.close()
            statuses = [near.end(), by_text.end()]
    for name, found in faults.items():
        for fault in dict.fromkeys(found):
            print(f"{name}: {fault}", file=sys.stderr)
        print(f"{name}: {'ok' if not found else 'FAULTS'}")
    sys.exit(any(faults.values()) or statuses != [0, 0])


if __name__ == "__main__":
    main()
