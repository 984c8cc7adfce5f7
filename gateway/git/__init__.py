"""Git, run by the gateway itself, in repositories that it does not trust.

In: folders. Out: worktrees, their changes, merges. No program that a repository names is run: not its hooks, filters,
merge and diff drivers, file system monitors, helpers (`view` says how). Everything here blocks: callers use a thread.
"""
