"""The person at the machine: a caller that needs no token, because its process runs as the gateway's own user.

In: a connection. Out: nothing, or the reason why its caller is refused. The gateway's own user and root pass. Every
other user is refused, and so is every process that the gateway itself has started: an agent must not drive the gateway
that runs it. What is found out is kept with the connection (`Peer`), never with an address, which another process may
have a moment later.

Not noticed: an agent that has a program outside of its own processes make the call (a service of the user's session).
Agents that must not do this run in a sandbox.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from contextlib import suppress
from ipaddress import ip_address

import anyio.to_thread
from starlette.datastructures import Headers

from gateway.errors import Forbidden, GatewayError, Unauthorized
from gateway.web.auth.process_tree import Holder, find_holder, has_children, is_descendant
from gateway.web.auth.proxies import FORWARDED_HEADERS
from gateway.web.auth.socket_owner import Address, SocketOwner, find_owner

ROOT_UID = 0
CREDENTIALS = struct.Struct("=3i")
"""`struct ucred`: process, user, group."""
TOKEN_ADVICE = "ask its operator for a token (agui-gateway token add NAME), or start a gateway of your own"


class Peer:
    """The other end of one connection. What is known of it is found out once, when it is first needed."""

    def __init__(
        self, peer: Address | None, own: Address | None, unix: SocketOwner | None = None, pid: int = 0
    ) -> None:
        """`unix`, `pid`: the user and the process at the other end of a UNIX-domain socket."""
        self._peer = peer
        self._own = own
        self._pid = pid
        self._owner = unix
        self._verdict: GatewayError | None = None
        self._is_known = False

    @classmethod
    def of_socket(cls, sock: socket.socket | None) -> Peer:
        """Never raises: a client may have closed the connection already."""
        try:
            if sock is None:
                return cls(None, None)
            if sys.platform == "linux" and sock.family == socket.AF_UNIX:
                credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
                pid, uid, _ = CREDENTIALS.unpack(credentials)
                return cls(None, None, SocketOwner(uid, None), pid)
            if sock.family == socket.AF_UNIX:
                return cls(None, None, SocketOwner(os.geteuid(), None))  # only who may open the socket's file gets here
            return cls(sock.getpeername()[:2], sock.getsockname()[:2])
        except OSError:
            return cls(None, None)

    def _find_owner(self) -> SocketOwner | None:
        """None: the owner cannot be known. Found once for each connection."""
        if self._owner is None and self._peer is not None and self._own is not None and _is_loopback(self._peer[0]):
            with suppress(OSError):  # the system does not say
                self._owner = find_owner(self._peer, self._own)
        return self._owner

    async def check_user(self, headers: Headers) -> None:
        """Raises `Unauthorized` unless the caller is the gateway's own user or root, `Forbidden` for an agent."""
        owner = self._find_owner()
        if owner is None:
            detail = "the gateway cannot find out which user of this machine calls it"
            raise Unauthorized(f"{detail}: keep the connection open, or {TOKEN_ADVICE}", code="LOCAL_USER_UNKNOWN")
        if owner.uid not in (os.geteuid(), ROOT_UID):
            detail = f"this gateway belongs to another user of this machine, and you call it as uid {owner.uid}"
            raise Unauthorized(f"{detail}: {TOKEN_ADVICE}", code="LOCAL_USER_REFUSED")
        if owner.uid != os.geteuid() and any(name in headers for name in FORWARDED_HEADERS):
            detail = "the request comes through a proxy of root, which may serve anybody"
            advice = "start the gateway with --proxy and the proxy's address, and give its users tokens (--token-file)"
            raise Unauthorized(f"{detail}: {advice}", code="LOCAL_USER_UNKNOWN")
        await self.check_no_agent()

    async def check_no_agent(self) -> None:
        """Raises `Forbidden` for a process that the gateway has started."""
        if not self._is_known:
            self._verdict = await self._judge()
            self._is_known = True
        if self._verdict is not None:
            raise self._verdict

    async def _judge(self) -> GatewayError | None:
        owner = self._find_owner()
        if owner is None or not has_children():
            return None
        if owner.inode is None:
            is_ours = await anyio.to_thread.run_sync(is_descendant, self._pid)
            return _refuse_agent("the call comes from a process that this gateway started") if is_ours else None
        match await anyio.to_thread.run_sync(find_holder, owner.inode):
            case Holder.DESCENDANT:
                reason = "the call comes from a process that this gateway started"
            case Holder.UNKNOWN:
                reason = "the call cannot be distinguished from one of the processes that this gateway started"
            case Holder.OTHER:
                return None
        return _refuse_agent(reason)


def _refuse_agent(reason: str) -> GatewayError:
    detail = f"{reason}: an agent may not drive the gateway that runs it"
    advice = "If it should, give it a token of its own (agui-gateway token add NAME)"
    return Forbidden(f"{detail}. {advice}.", code="AGENT_REFUSED")


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
