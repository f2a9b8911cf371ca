"""The part of WebDriver that the page checks need: headless Chromium with chromedriver, or Firefox with
geckodriver if FPSTORE_BROWSER is 'firefox'. Uses only the standard library.

On Debian: apt-get install chromium chromium-driver, or firefox-esr and 'cargo install geckodriver'.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request


def start(profile):
    """Starts the selected browser, with a new profile in this folder."""
    kinds = {"chromium": Chromium, "firefox": Firefox}
    name = os.environ.get("FPSTORE_BROWSER", "chromium")
    if name not in kinds:
        sys.exit(f"FPSTORE_BROWSER is '{name}', expected one of {', '.join(kinds)}")
    return kinds[name](str(profile))


def found(*names):
    """The path of the first of these programs that is installed."""
    paths = [path for path in map(shutil.which, names) if path]
    if not paths:
        sys.exit(f"{' or '.join(names)} is not installed; see tools/pages/browser.py")
    return paths[0]


class Browser:
    def __init__(self, driver, wanted):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [*driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.base = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                self.call("GET", "/status")
                break
            except urllib.error.URLError:
                time.sleep(0.05)
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base += f"/session/{session['sessionId']}"

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as refused:
            raise RuntimeError(json.load(refused)["value"]["message"]) from None

    def open(self, address):
        self.call("POST", "/url", {"url": address})

    def run(self, script, *args):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(args)})

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()


class Chromium(Browser):
    def __init__(self, profile):
        options = {
            "binary": found("chromium"),
            "args": [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                f"--user-data-dir={profile}",
            ],
        }
        super().__init__([found("chromedriver")], {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        })
        self.features = []

    def devtools(self, command, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def view(self, width, height, theme="light"):
        """Sets the window size and theme of pages; small sizes emulate a telephone."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=width < 500)
        self.features = [{"name": "prefers-color-scheme", "value": theme}]
        self.on_paper(False)

    def on_paper(self, is_printed):
        """Switches between print and screen rendering of the page."""
        media = "print" if is_printed else ""
        self.devtools("Emulation.setEmulatedMedia", media=media, features=self.features)

    def download_to(self, folder):
        self.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def log(self):
        """The console messages since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def picture(self):
        """The whole page, as PNG."""
        whole = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(whole["data"])

    def printed(self):
        """The page as PDF."""
        return base64.b64decode(self.devtools("Page.printToPDF", printBackground=False)["data"])


class Firefox(Browser):
    def __init__(self, profile):
        os.makedirs(profile, exist_ok=True)
        options = {
            "binary": found("firefox-esr", "firefox"),
            "args": ["-headless", "-profile", profile],
            "prefs": {"ui.useOverlayScrollbars": 1},
        }
        # In Firefox the theme is a setting of the browser: `open` sets it again for each page.
        self.theme = "none"
        super().__init__([found("geckodriver"), "--allow-system-access"], {
            "browserName": "firefox",
            "moz:firefoxOptions": options,
        })

    def around(self, script, *args):
        """Runs a script in the browser's own context."""
        self.call("POST", "/moz/context", {"context": "chrome"})
        try:
            return self.run(script, *args)
        finally:
            self.call("POST", "/moz/context", {"context": "content"})

    def open(self, address):
        super().open(address)
        # A page of another origin runs in another process of the browser, where the theme is not
        # set yet.
        self.show(self.theme)

    def show(self, theme):
        self.theme = theme
        self.around("gBrowser.selectedBrowser.browsingContext.prefersColorSchemeOverride = "
                    "arguments[0]", theme)

    def view(self, width, height, theme="light"):
        # A window cannot be as narrow as a telephone, but the page inside it can.
        self.call("POST", "/window/rect", {"width": max(width, 600), "height": height + 200})
        self.around(
            "const [width, height] = arguments, { style } = gBrowser.selectedBrowser;"
            "style.flex = 'none'; style.width = `${width}px`; style.height = `${height}px`;",
            width, height)
        self.show(theme)
        self.on_paper(False)

    def on_paper(self, is_printed):
        self.around("gBrowser.selectedBrowser.browsingContext.mediumOverride = arguments[0]",
                    "print" if is_printed else "")

    def download_to(self, folder):
        self.around("Services.prefs.setIntPref('browser.download.folderList', 2);"
                    "Services.prefs.setStringPref('browser.download.dir', arguments[0])", str(folder))

    def log(self):
        # Messages of the browser itself are filtered out: they belong to no page.
        return self.around("""
            const all = Services.console.getMessageArray().filter(it => it instanceof Ci.nsIScriptError);
            Services.console.reset();
            const of_pages = all.filter(it => !/^(chrome|resource):/.test(it.sourceName));
            return of_pages.map(it => `${it.sourceName}:${it.lineNumber} ${it.errorMessage}`)""")

    def picture(self):
        return base64.b64decode(self.call("GET", "/moz/screenshot/full"))

    def printed(self):
        return base64.b64decode(self.call("POST", "/print", {"background": False}))
