#!/usr/bin/env python3
"""Opens pages written by fpstore in a headless browser, wide and narrow, light and dark.

The pages of all commands with --html are checked here; tools/pages/check_groups.py uses the pages of
'cluster' interactively. The check fails on:

* any message in the console of the browser;
* any network request;
* a plot that is not drawn (no box, no marks, marks or words outside of it);
* a page that scrolls sideways;
* a dark page that looks like the light one;
* folds that hide nothing;
* wrong marks or controls in print.

    python3 tools/pages/check_page.py PAGE.html... [--pictures DIR]

Needs a browser and its driver, see tools/pages/browser.py.
"""

import argparse
import pathlib
import sys
import tempfile

from browser import start

SIZES = {"wide": (1280, 900), "narrow": (360, 740)}
THEMES = ("light", "dark")

# Measures the plots, sizes, colours and requests of a page, in the browser.
PROBE = """
const plots = [...document.querySelectorAll('svg')].map(svg => {
  const box = svg.getBoundingClientRect();
  const marks = [...svg.querySelectorAll('.marks rect, .marks path, .marks circle')];
  const seen = marks.filter(mark => {
    const style = getComputedStyle(mark), at = mark.getBoundingClientRect();
    const ink = style.fill !== 'none' || style.stroke !== 'none';
    return ink && style.visibility === 'visible' && Number(style.opacity) > 0 && (at.width > 0 || at.height > 0);
  });
  const inside = element => {
    const at = element.getBoundingClientRect();
    return at.left >= box.left - 1 && at.right <= box.right + 1 && at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
  };
  const words = [...svg.querySelectorAll('text')];
  const named = (svg.getAttribute('aria-labelledby') || '').split(' ')
    .map(id => document.getElementById(id)?.textContent.trim() || '');
  const last = svg.querySelectorAll('.labels .middle:not(.name)');
  const overlaps = [...last].some((word, i) => i > 0 &&
    word.getBoundingClientRect().left < last[i - 1].getBoundingClientRect().right);
  return {
    id: svg.id, width: box.width, height: box.height, marks: marks.length, seen: seen.length,
    outside: [...marks, ...words].filter(element => !inside(element)).map(element => element.outerHTML.slice(0, 90)),
    named: named.length >= 2 && named.every(name => name.length > 0), overlaps,
    small: words.length ? Math.min(...words.map(word =>
      parseFloat(getComputedStyle(word).fontSize) * box.width / svg.viewBox.baseVal.width)) : 0,
    rows: svg.closest('figure')?.querySelectorAll('tbody tr').length || 0,
    ink: [...new Set(seen.map(mark => getComputedStyle(mark).fill))].sort().join(),
  };
});
const body = getComputedStyle(document.body);
return {
  plots, scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth,
  paper: body.backgroundColor, ink: body.color, title: document.title,
  requests: performance.getEntriesByType('resource').map(entry => entry.name),
  empty: !document.querySelector('.plots'),
  folds: document.querySelectorAll('details.fold').length,
  height: document.querySelector('.text')?.getBoundingClientRect().height ?? 0,
};
"""

# Returns the faults of a page in its printed form.
PAPER = """
const shown = query => [...document.querySelectorAll(query)].some(each => each.getClientRects().length);
const faults = [];
if (shown('.tools, .pager, button.more')) faults.push('controls are printed');
for (const each of document.querySelectorAll('.bits .differs, del, ins, .key, .bars .filled')) {
  const style = getComputedStyle(each);
  if (style.printColorAdjust !== 'exact') faults.push('grounds are not printed');
  if (each.matches('.differs') && style.textDecorationLine !== 'underline') faults.push('bits are not marked');
}
for (const each of document.querySelectorAll('.text.short')) {
  if (getComputedStyle(each).maxHeight !== 'none') faults.push('texts are cut');
}
const data = document.getElementById('data');
if (data) {
  const groups = JSON.parse(data.textContent).length;
  const count = () => document.querySelectorAll('#groups article').length;
  const before = count();
  dispatchEvent(new Event('beforeprint'));
  if (count() !== Math.min(groups, 500)) faults.push(`${count()} of ${groups} groups are printed`);
  if (shown('button.more')) faults.push('groups are printed in part');
  dispatchEvent(new Event('afterprint'));
  if (count() !== before) faults.push('printing leaves another page behind');
}
return [...new Set(faults)];
"""


def look(browser, page, size, theme, picture):
    """The faults of one page at one size in one theme, and a screenshot."""
    width, height = SIZES[size]
    browser.view(width, height, theme)
    browser.open(page.resolve().as_uri())
    # Measures the page in its initial state, and with all tables unfolded.
    seen = browser.run(PROBE)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    unfolded = browser.run(PROBE)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = false)")
    faults = [f"console: {message}" for message in browser.log()]
    faults += [f"request for {name}" for name in seen["requests"] if not name.startswith("data:")]
    for state, name in ((seen, "folded"), (unfolded, "unfolded")):
        if state["scroll"] > state["client"]:
            faults.append(f"scrolls sideways, {name}: {state['scroll']} > {state['client']}")
    if seen["folds"] and unfolded["height"] <= seen["height"]:
        faults.append(f"folds hide nothing: {seen['height']} pixels, {unfolded['height']} unfolded")
    browser.on_paper(True)
    faults += [f"on paper: {fault}" for fault in browser.run(PAPER)]
    browser.on_paper(False)
    if not seen["plots"] and not seen["empty"]:
        faults.append("no plots")
    for plot in seen["plots"]:
        name = plot["id"] or "a plot without a name"
        if plot["width"] < 200 or plot["height"] < 100:
            faults.append(f"{name} has no box: {plot['width']} x {plot['height']}")
        if plot["seen"] == 0 or plot["seen"] < plot["marks"]:
            faults.append(f"{name}: {plot['seen']} of {plot['marks']} marks are drawn")
        faults += [f"{name}: outside of its box: {what}" for what in plot["outside"]]
        if not plot["named"]:
            faults.append(f"{name} has no title or description")
        if plot["overlaps"]:
            faults.append(f"{name}: labels overlap")
        if plot["small"] < 9.5:
            faults.append(f"{name}: words of {plot['small']:.1f} pixels")
        if plot["rows"] == 0:
            faults.append(f"{name} has no table of numbers")
    if picture:
        picture.write_bytes(browser.picture())
        if size == "wide" and theme == "light":
            picture.with_suffix(".pdf").write_bytes(browser.printed())
    return faults, seen


def check(browser, page, pictures):
    faults, looks, plots = [], {}, 0
    for size in SIZES:
        for theme in THEMES:
            picture = pictures / f"{page.stem}-{size}-{theme}.png" if pictures else None
            found, seen = look(browser, page, size, theme, picture)
            faults += [f"{page.name}, {size}, {theme}: {fault}" for fault in found]
            looks[size, theme] = (seen["paper"], seen["ink"], [plot["ink"] for plot in seen["plots"]])
            plots = len(seen["plots"])
    for size in SIZES:
        light, dark = looks[size, "light"], looks[size, "dark"]
        same = light[0] == dark[0] or light[1] == dark[1]
        if same or any(one == other for one, other in zip(light[2], dark[2])):
            faults.append(f"{page.name}, {size}: the dark theme looks like the light one")
    return faults, plots


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, help="a folder for screenshots")
    args = parser.parse_args()
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory() as profile:
        browser = start(profile)
        try:
            for page in args.pages:
                faults, plots = check(browser, page, args.pictures)
                failed |= bool(faults)
                for fault in faults:
                    print(f"check_page: {fault}", file=sys.stderr)
                print(f"{page.name}: {plots} plots, {len(SIZES) * len(THEMES)} looks, {len(faults)} faults")
        finally:
            browser.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
