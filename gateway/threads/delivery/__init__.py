"""Messages to a thread, without a run around them: queued, delivered at their moment, with a receipt.

In: a message that was checked (`agui.message_input`). Out: a run that begins with it, or the next step of the live
turn, and receipts among the thread's events. A message that is not delivered yet is in the store, so it survives the
gateway. Never: the same message delivered twice.

Names to know: `dispatcher.Dispatcher`, `queue.DeliveryQueue`, `receipts.Receipts`, `steering.Steering`,
`recovery.find_arrival`.
"""
