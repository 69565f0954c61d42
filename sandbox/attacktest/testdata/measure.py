"""Measures the way to the host: time per request, or bytes per second."""
import http.client
import sys
import time

mode, n = sys.argv[1], int(sys.argv[2])
connection = http.client.HTTPConnection("127.0.0.1", 8017)
begin = time.perf_counter()
if mode in ("kept", "new"):
    for _ in range(n):
        connection.request("POST", "/", b"x")
        assert connection.getresponse().read() == b"echo x"
        if mode == "new":
            connection.close()
    print("%.0f us" % ((time.perf_counter() - begin) / n * 1e6))
else:
    body = bytes(n << 20) if mode == "up" else b""
    connection.request("POST", "/bulk?bytes=%d" % (0 if body else n << 20), body)
    answer, total = connection.getresponse(), len(body)
    while block := answer.read(1 << 16):
        total += len(block)
    assert total == n << 20, total
    print("%.0f MB/s" % (total / 1e6 / (time.perf_counter() - begin)))
