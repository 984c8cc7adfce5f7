"""Agents that are reached by AG-UI itself: endpoints elsewhere, and agents of mounted gateways.

In: `[remote]` of an agent's file. Out: a `RemoteDriver`. A run is a POST whose response is a stream of AG-UI events
(`turn`, `decoder`); everything else is a request with one body (`http`). `mount` reads which agents another gateway
has, and `controls` operate on a thread there. All connections are held to `drivers.address_policy`.
"""

from gateway.drivers.remote.driver import RemoteDriver

__all__ = ["RemoteDriver"]
