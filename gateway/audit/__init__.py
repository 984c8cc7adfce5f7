"""The audit log: who did what, and who was refused.

In: actions, as they happen anywhere in the gateway. Out: entries in the store, in their order, and readers that follow
them. `AuditLog.record` writes soon, `AuditLog.record_durably` before the action takes effect.
"""

from gateway.audit.actions import ACTIONS, Action
from gateway.audit.log import AuditLog
from gateway.audit.reader import AuditReader, to_json
from gateway.audit.run_options import describe_options
from gateway.store.audit import AuditFilter

__all__ = ["ACTIONS", "Action", "AuditFilter", "AuditLog", "AuditReader", "describe_options", "to_json"]
