"""Drives headless Chromium through its debugging pipe: enough to open pages, click and type, and nothing more.

The pipe (--remote-debugging-pipe) carries NUL-terminated JSON on file descriptors 3 and 4, so this needs no WebSocket
and opens no port.
"""

import fcntl
import json
import os
import subprocess
import threading
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--disable-default-apps", "--disable-domain-reliability", "--lang=en-GB", "--remote-debugging-pipe"]


class Chromium:
    """One browser process. `resolve` is Chromium's --host-resolver-rules: where names lead, port included."""

    def __init__(self, program, profile, resolve):
        to_browser, from_browser = os.pipe(), os.pipe()
        # Out of the way of 3 and 4, which are what the child must have.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_browser[0], from_browser[1])]

        def place():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", f"--host-resolver-rules={resolve}", "about:blank"],
            preexec_fn=place, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for fd in (*theirs, to_browser[0], from_browser[1]):
            os.close(fd)
        self.out = os.fdopen(to_browser[1], "wb", buffering=0)
        self.changed = threading.Condition()
        self.last_id = 0
        self.answers = {}
        self.loads = {}
        threading.Thread(target=self._read, args=(os.fdopen(from_browser[0], "rb"),), daemon=True).start()

    def _read(self, pipe):
        waiting = b""
        while data := pipe.read1(65536):
            *messages, waiting = (waiting + data).split(b"\0")
            for message in map(json.loads, messages):
                with self.changed:
                    if "id" in message:
                        self.answers[message["id"]] = message
                    elif message["method"] == "Page.loadEventFired":
                        session = message["sessionId"]
                        self.loads[session] = self.loads.get(session, 0) + 1
                    self.changed.notify_all()

    def wait_for(self, holds, what):
        with self.changed:
            if not self.changed.wait_for(holds, timeout=20):
                raise RuntimeError(f"chromium: {what} did not happen within 20 s")

    def call(self, method, session=None, **params):
        with self.changed:
            self.last_id += 1
            number = self.last_id
            message = {"id": number, "method": method, "params": params}
            if session:
                message["sessionId"] = session
            self.out.write(json.dumps(message).encode() + b"\0")
        self.wait_for(lambda: number in self.answers, method)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"chromium: {method}: {answer['error']['message']}")
        return answer["result"]

    def visitor(self):
        """A tab in a context of its own: its own cookies, cache and connections, as another person's browser."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable", session)
        return Tab(self, session)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(timeout=10)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


class Tab:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session

    def evaluate(self, script):
        result = self.browser.call("Runtime.evaluate", self.session, expression=script, awaitPromise=True,
                                   userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"chromium: {script}: {result['exceptionDetails']['text']}")
        return result["result"].get("value")

    def settle(self):
        """Waits until the page has loaded and its calls are answered."""
        until = time.monotonic() + 20
        while not self.evaluate("document.readyState === 'complete' && !(window.shop && shop.busy)"):
            if time.monotonic() > until:
                raise RuntimeError("chromium: the page did not settle within 20 s")
            time.sleep(0.02)

    def _loading(self, action):
        before = self.browser.loads.get(self.session, 0)
        action()
        self.browser.wait_for(lambda: self.browser.loads.get(self.session, 0) > before, "a page load")
        self.settle()

    def open(self, url):
        self._loading(lambda: self.browser.call("Page.navigate", self.session, url=url))

    def reload(self):
        self._loading(lambda: self.browser.call("Page.reload", self.session))

    def follow(self, selector):
        """Clicks what leads to another page."""
        self._loading(lambda: self.click(selector, settle=False))

    def click(self, selector, settle=True):
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        if settle:
            self.settle()

    def type(self, selector, text):
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.browser.call("Input.insertText", self.session, text=text)

    def submit(self, selector):
        self._loading(lambda: self.evaluate(f"document.querySelector({json.dumps(selector)}).requestSubmit()"))
