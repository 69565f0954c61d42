"""Looks for a way to the host and to the world: names, packets, ports, sockets."""
import os
import socket
import stat
import struct

from hostile import PATH, RELAY, ask, attempt, end, found, say, tried

HOSTS = os.environ["HOSTILE_HOSTS"].split(",") + ["169.254.169.254", "172.17.0.1", "10.0.0.1", "192.168.0.1", "8.8.8.8",
                                                  "fd00:ec2::254", "fe80::1%lo", "2001:4860:4860::8888"]
PORTS = [int(os.environ["HOSTILE_PORT"]), 22, 53, 80, 443, 2375, 2376]


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(2)
        s.connect(address)
        return "connected"


def send(family, kind, protocol, data, address):
    with socket.socket(family, kind, protocol) as s:
        return s.sendto(data, address)


ask()
for line in list(open("/proc/net/dev"))[2:]:
    tried()
    if line.split(":")[0].strip() not in ("lo", "tunl0", "ip6tnl0", "sit0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6gre0"):
        found("an interface: " + line)
routes = list(open("/proc/net/route"))[1:]
if routes:
    found("a route: " + routes[0])
echo = struct.pack("!BBHHH", 8, 0, 0xF7FF, 0, 0)
for host in HOSTS:
    six = ":" in host
    family = socket.AF_INET6 if six else socket.AF_INET
    for port in PORTS:
        attempt("connecting to %s:%d" % (host, port), connect, family, (host, port))
        attempt("a datagram to %s:%d" % (host, port), send, family, socket.SOCK_DGRAM, 0, b"x", (host, port))
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        attempt("ICMP to " + host, send, family, kind, 58 if six else 1, echo, (host, 0))
for name in ("example.com", "metadata.google.internal", "host.docker.internal", "gateway.docker.internal", "kubernetes"):
    attempt("the name " + name, socket.getaddrinfo, name, 80)
attempt("raw packets", socket.socket, socket.AF_INET, socket.SOCK_RAW, 255)
attempt("raw frames", socket.socket, 17, socket.SOCK_RAW, socket.htons(3))
attempt("the hypervisor", socket.socket, 40, socket.SOCK_STREAM)
for address in ("127.0.0.1", "127.0.0.11", "127.1.2.3", "0.0.0.0"):
    for port in range(1, 65536) if address == "127.0.0.1" else PORTS + [RELAY[1], 41234]:
        s = socket.socket()
        s.settimeout(2)
        tried()
        # A port may meet itself, which is nobody.
        if s.connect_ex((address, port)) == 0 and s.getsockname() != s.getpeername() and port != RELAY[1]:
            found("port %d of %s is open" % (port, address))
        s.close()
for place in ("/proc/net/unix", "/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp"):
    for line in list(open(place))[1:]:
        tried()
        say(place + " " + line.strip())
        if place.endswith("unix"):
            found("a socket of somebody: " + line)
for folder, folders, names in os.walk("/"):
    if folder in ("/proc", "/sys"):
        folders.clear()
        continue
    for name in names:
        path = os.path.join(folder, name)
        try:
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                found("a socket: " + path)
        except OSError:
            pass
for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"):
    attempt("the engine at " + path, connect, socket.AF_UNIX, path)


def through(line):
    """Asks the relay for somebody else."""
    with socket.create_connection(RELAY, 5) as s:
        s.sendall(line.encode() + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = s.recv(4096)
    if b" 200 " not in answer[:20]:
        raise OSError("refused")
    return answer


for host in HOSTS[:4]:
    for port in PORTS:
        attempt("CONNECT", through, "CONNECT %s:%d" % (host, port))
        attempt("proxying", through, "GET http://%s:%d/" % (host, port))
        attempt("a path", through, "GET %s/http://%s:%d/" % (PATH, host, port))
end()
