"""Which user and which socket are at the other end of a connection of this machine (Linux).

In: the two addresses of a connection. Out: the owner of the other end's socket. The kernel is asked for exactly this
connection (sock_diag, https://man7.org/linux/man-pages/man7/sock_diag.7.html): measured, 20 to 35 µs however many
sockets there are. Where that is not allowed, `/proc/net/tcp` is read.

A socket that its process has closed already has no owner: the kernel then names root, with the inode 0. Such an answer
counts as none, or every user could pass as root by closing early.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]
IP: TypeAlias = IPv4Address | IPv6Address

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1
NLMSG_ERROR = 2
ALL_STATES = 0xFFFFFFFF
NO_COOKIE = 0xFFFFFFFF
MESSAGE_BYTES = 4096

HEADER = struct.Struct("=IHHII")
"""`struct nlmsghdr`: length, type, flags, sequence number, port."""
REQUEST_HEAD = struct.Struct("=BBBBI")
"""`struct inet_diag_req_v2`, its first part: family, protocol, extensions, padding, states."""
SOCKET_ID = struct.Struct("!HH16s16s")
"""`struct inet_diag_sockid`, its first part: ports and addresses, in network order."""
SOCKET_ID_TAIL = struct.Struct("=III")
"""…interface and cookie, in the machine's order."""
ANSWER_TAIL = struct.Struct("=IIIII")
"""`struct inet_diag_msg`, its last part: expires, rqueue, wqueue, uid, inode."""
ANSWER_TAIL_OFFSET = HEADER.size + 4 + SOCKET_ID.size + SOCKET_ID_TAIL.size

PROC_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
PROC_UID, PROC_INODE = 7, 9
"""Columns."""


@dataclass(frozen=True, slots=True)
class SocketOwner:
    uid: int
    inode: int | None
    """The socket's number, as `/proc/PID/fd` shows it; None: it is a UNIX-domain socket, whose process is known."""


def can_read_owners() -> bool:
    """Whether this system tells who is at the other end: tried, with a connection to itself."""
    if sys.platform != "linux":
        return False
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            owner = find_owner(client.getsockname(), server.getsockname())
    except OSError:
        return False
    return owner is not None and owner.uid == os.geteuid()


def find_owner(peer: Address, own: Address) -> SocketOwner | None:
    """The owner of the socket whose own address is `peer` and which is connected to `own`; None: there is none, or it
    is closed already. Raises `OSError` where nothing can be read."""
    ends = _plain(peer[0]), peer[1], _plain(own[0]), own[1]
    try:
        owner = _ask_kernel(*ends)
    except OSError:
        owner = _read_proc(*ends)
    if owner is None or not owner.inode or (owner.uid == _overflow_uid() and not _sees_all_users()):
        return None
    return owner


def _plain(host: str) -> IP:
    address = ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


# -- sock_diag


def _ask_kernel(peer: IP, peer_port: int, own: IP, own_port: int) -> SocketOwner | None:
    family = socket.AF_INET if peer.version == 4 else socket.AF_INET6
    body = (
        REQUEST_HEAD.pack(family, socket.IPPROTO_TCP, 0, 0, ALL_STATES)
        + SOCKET_ID.pack(peer_port, own_port, peer.packed, own.packed)
        + SOCKET_ID_TAIL.pack(0, NO_COOKIE, NO_COOKIE)
    )
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as netlink:
        netlink.settimeout(1.0)
        netlink.send(HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + body)
        answer = netlink.recv(MESSAGE_BYTES)
    kind = HEADER.unpack_from(answer)[1]
    if kind == NLMSG_ERROR:
        error = -struct.unpack_from("=i", answer, HEADER.size)[0]
        if error == 2:  # ENOENT: there is no such connection
            return None
        raise OSError(error, os.strerror(error))
    _, _, _, uid, inode = ANSWER_TAIL.unpack_from(answer, ANSWER_TAIL_OFFSET)
    return SocketOwner(uid, inode)


# -- /proc


def _read_proc(peer: IP, peer_port: int, own: IP, own_port: int) -> SocketOwner | None:
    wanted = {(_to_hex(peer, peer_port, table), _to_hex(own, own_port, table)) for table in (4, 6)}
    for path in PROC_TABLES:
        if path is PROC_TABLES[1] and not path.exists():
            continue  # no IPv6 here
        for line in path.read_text("ascii").splitlines()[1:]:
            fields = line.split()
            if (fields[1], fields[2]) in wanted:
                return SocketOwner(int(fields[PROC_UID]), int(fields[PROC_INODE]))
    return None


def _to_hex(address: IP, port: int, table: int) -> str:
    """As the table of that IP version writes it: groups of 32 bits in the machine's order."""
    packed = address.packed
    if table == 6 and address.version == 4:
        packed = bytes(10) + b"\xff\xff" + packed
    numbers = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{number:08X}" for number in numbers) + f":{port:04X}"


# -- users


@cache
def _overflow_uid() -> int:
    try:
        return int(Path("/proc/sys/kernel/overflowuid").read_text("ascii"))
    except (OSError, ValueError):
        return 65534


@cache
def _sees_all_users() -> bool:
    """In a user namespace all users from outside have one and the same number, which then tells nothing."""
    try:
        return Path("/proc/self/uid_map").read_text("ascii").split() == ["0", "0", "4294967295"]
    except OSError:
        return False
