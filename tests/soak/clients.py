"""The clients of a soak, good and bad, all in one event loop and bounded in number and rate.

Each request that is sent whole carries an id of its own, so that what the gateway recorded can be held against what the
client saw, one by one.
"""

import asyncio
import collections
import random
import socket
import struct


class Tally:
    """What the clients know."""

    def __init__(self):
        self.answered = {}       # id -> status, of requests answered whole
        self.cut = set()         # sent whole, answer begun and broken off
        self.silent = set()      # sent whole, connection closed before its turn
        self.left = set()        # sent whole by clients that left on purpose
        self.malformed = 0       # answered 400
        self.done = collections.Counter()
        self.surprises = []
        self.latencies = []
        self.calm = collections.Counter()  # statuses of the last two seconds, when all is well again

    def surprise(self, text):
        if len(self.surprises) < 20:
            self.surprises.append(text)
        self.done["surprise"] += 1


class Gone(Exception):
    """The gateway takes no more connections."""


class Answer:
    def __init__(self, status, whole, closes):
        self.status, self.whole, self.closes = status, whole, closes


async def read_answer(reader):
    """None if the connection ended without a byte."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        return Answer(0, False, True) if getattr(error, "partial", b"") else None
    lines = head.decode("latin-1").lower().split("\r\n")
    status = int(lines[0].split()[1])
    fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    closes = "close" in fields.get("connection", "")
    try:
        if "content-length" in fields:
            await reader.readexactly(int(fields["content-length"]))
        while "chunked" in fields.get("transfer-encoding", ""):
            size = int(await reader.readuntil(b"\r\n"), 16)
            await reader.readexactly(size + 2)
            if size == 0:
                break
    except (asyncio.IncompleteReadError, ConnectionError):
        return Answer(status, False, True)
    return Answer(status, True, closes)


def reset(writer):
    """RST instead of FIN."""
    link = writer.get_extra_info("socket")
    if link is not None and link.fileno() >= 0:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Clients:
    def __init__(self, port, seed, rate, seconds):
        self.port, self.rate, self.seconds = port, rate, seconds
        self.random = random.Random(seed)
        self.tally = Tally()
        self.number = 0
        self.until = 0.0

    def run(self):
        asyncio.run(self._run())
        return self.tally

    async def _run(self):
        loop = asyncio.get_running_loop()
        self.until = loop.time() + self.seconds
        steady = 16
        parts = [self._steady(steady / self.rate) for _ in range(steady)]
        for odd, pause in ((self._leave, 0.05), (self._leave, 0.07), (self._stall_head, 0.5), (self._stall_body, 0.5),
                           (self._malformed, 0.2), (self._read_slowly, 0.5), (self._idle, 0.3)):
            parts.append(self._again(odd, pause))
        for outcome in await asyncio.gather(*parts, return_exceptions=True):
            if isinstance(outcome, Exception) and not isinstance(outcome, Gone):
                raise outcome

    def _id(self, kind):
        self.number += 1
        return f"{kind}-{self.number}"

    async def _connect(self):
        """Without the gateway there is nothing more to do: all clients end."""
        try:
            return await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 17)
        except OSError as error:
            self.tally.surprise(f"no connection to the gateway: {error}")
            self.until = 0.0
            raise Gone() from error

    def _path(self):
        """Some answers are large enough to be broken off."""
        return "/large" if self.random.random() < 0.02 else "/item"

    def _request(self, name, path):
        """One whole request: mostly GET, sometimes with a body, sometimes in chunks."""
        draw = self.random.random()
        head = f"{path} HTTP/1.1\r\nHost: shop.example\r\nX-Request-Id: {name}\r\n"
        if draw < 0.7:
            return f"GET {head}\r\n".encode()
        body = b"b" * self.random.randint(1, 20000)
        if draw < 0.9:
            return f"POST {head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        return f"PUT {head}Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"

    async def _steady(self, pause):
        """Asks again and again on kept connections, as good clients do; pipelines now and then."""
        loop = asyncio.get_running_loop()
        reader = writer = None
        while loop.time() < self.until:
            if writer is None:
                reader, writer = await self._connect()
            names = [self._id("steady") for _ in range(2 if self.random.random() < 0.05 else 1)]
            began = loop.time()
            writer.write(b"".join(self._request(name, self._path()) for name in names))
            for index, name in enumerate(names):
                try:
                    answer = await asyncio.wait_for(read_answer(reader), 10)
                except asyncio.TimeoutError:
                    self.tally.surprise(f"{name} was not answered in 10 s")
                    answer = Answer(0, False, True)
                self.tally.latencies.append(loop.time() - began)
                if began > self.until - 2:
                    self.tally.calm[answer.status if answer and answer.whole else "none"] += 1
                if answer is None:
                    self.tally.surprise(f"{name} found its connection closed without a word")
                    self.tally.silent.add(name)
                elif answer.whole:
                    self.tally.answered[name] = answer.status
                    self.tally.done[answer.status] += 1
                else:
                    self.tally.cut.add(name)
                if answer is None or answer.closes or not answer.whole:
                    # What was pipelined behind it was not taken up.
                    self.tally.silent.update(names[index + 1:])
                    writer.close()
                    writer = None
                    break
            await asyncio.sleep(pause * self.random.uniform(0.5, 1.5))
        if writer is not None:
            writer.close()

    async def _again(self, action, pause):
        """Starts the action again and again, whether or not the last one has ended; waits for all in the end."""
        loop = asyncio.get_running_loop()
        running = set()
        while loop.time() < self.until:
            if len(running) < 50:
                task = asyncio.create_task(self._guarded(action))
                running.add(task)
                task.add_done_callback(running.discard)
            await asyncio.sleep(pause * self.random.uniform(0.5, 1.5))
        await asyncio.gather(*list(running), return_exceptions=True)

    async def _guarded(self, action):
        try:
            reader, writer = await self._connect()
        except Gone:
            return
        try:
            await asyncio.wait_for(action(reader, writer), 20)
        except (ConnectionError, BrokenPipeError):
            pass  # the gateway gave it up first
        except asyncio.TimeoutError:
            self.tally.surprise(f"{action.__name__} did not end in 20 s")
        finally:
            writer.close()

    async def _leave(self, reader, writer):
        """Leaves at any moment: inside the head or the body, before or during the answer; by FIN or RST."""
        name = self._id("left")
        request = self._request(name, self.random.choice(["/item", "/large"]))
        whole = self.random.random() < 0.6
        writer.write(request if whole else request[:self.random.randint(1, len(request) - 1)])
        if whole:
            self.tally.left.add(name)
        await asyncio.sleep(self.random.choice([0, 0.002, 0.02, 0.2]))
        if whole and self.random.random() < 0.3:
            await reader.read(self.random.randint(1, 4000))
        if self.random.random() < 0.5:
            reset(writer)
        self.tally.done["left"] += 1

    async def _stall_head(self, reader, writer):
        writer.write(b"GET /item HTTP/1.1\r\nHost: shop.exa")
        await self._expect(reader, 408, "a head that stalls")

    async def _stall_body(self, reader, writer):
        name = self._id("stalled")
        writer.write(f"POST /item HTTP/1.1\r\nHost: shop.example\r\nX-Request-Id: {name}\r\n"
                     "Content-Length: 1000\r\n\r\n".encode() + b"b" * 100)
        answer = await read_answer(reader)
        # The upstream may fail first.
        if answer is None or answer.status not in (408, 502, 503, 504):
            self.tally.surprise(f"a body that stalls: {answer and answer.status}")
        self.tally.done["stalled body"] += 1

    async def _malformed(self, reader, writer):
        writer.write(b"GET /item HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 5\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        if await self._expect(reader, 400, "a malformed request"):
            self.tally.malformed += 1

    async def _expect(self, reader, status, what):
        answer = await read_answer(reader)
        found = answer.status if answer else None
        if found != status:
            self.tally.surprise(f"{what}: {found} instead of {status}")
        self.tally.done[what] += 1
        return found == status

    async def _read_slowly(self, reader, writer):
        name = self._id("left")
        self.tally.left.add(name)
        writer.write(f"GET /large HTTP/1.1\r\nHost: shop.example\r\nX-Request-Id: {name}\r\n\r\n".encode())
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return
        for _ in range(10 if b" 200 " in head else 0):
            if not await reader.read(4000):
                break
            await asyncio.sleep(0.3)
        self.tally.done["slow reader"] += 1

    async def _idle(self, reader, writer):
        await asyncio.sleep(self.random.uniform(0.5, 1.5))
        self.tally.done["idle"] += 1
