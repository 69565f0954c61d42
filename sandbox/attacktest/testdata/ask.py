"""Asks the host once, through the relay, and prints the answer."""
import sys
import urllib.request

request = urllib.request.Request("http://127.0.0.1:8017/", data=sys.argv[1].encode())
print(urllib.request.urlopen(request, timeout=60).read().decode())
