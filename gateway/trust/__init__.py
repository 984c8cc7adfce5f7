"""Workspace trust: which folders may configure the agents that work in them.

In: folders, the patterns of an agent's file, the trust file. Out: whether a principal trusts a folder, and what a
project's own configuration would run. Never: a process, a wait. `gateway.runs.trust` decides with it before an agent
starts; `agui-gateway trust` shows and edits it.
"""
