"""Threads between and beside their runs: listed, shown, set, forked, closed, deleted; their events; their messages.

In: requests about a thread, the activity of its runs (`runs.thread_activity`), the logs of its runs. Out: what is known
of a thread, its numbered events by Agent Relay's names, and messages that are delivered when the thread can take them.

Names to know: `service.ThreadService`, `status.ThreadStatuses`, `events.ThreadEvents`, `run_follower.RunFollower`,
`delivery.dispatcher.Dispatcher`.
"""
