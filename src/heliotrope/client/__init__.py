"""A client of a service: studies elsewhere, used as if they were here.

Whatever is sent may be sent again: an ask carries a key that is made anew for each call, a result
told twice is one result, a cancellation or a deletion that was done is done. So every call is
tried again while the network or the service fails, and nothing is lost or doubled by it.
"""

from heliotrope.client.opening import connect

__all__ = ["connect"]
