"""The subcommands of `agui-gateway`: one module each, with a click command called `command` in it."""

from __future__ import annotations

COMMANDS = {
    "serve": "Start the gateway.",
    "agents": "Show which agents can run on this machine.",
    "capabilities": "Show an agent's capabilities, or compare several agents.",
    "check": "Check an agent's file and start the agent.",
    "doctor": "Find out what an agent needs to run.",
    "models": "Show an agent's models and their prices; ask agents for theirs.",
    "run": "Talk to an agent in this terminal.",
    "audit": "Show who did what on a running gateway.",
    "install": "Install an agent, by the command of its file.",
    "plugins": "List, search, install and uninstall plugins of an agent.",
    "login": "Sign a principal in to an agent.",
    "token": "Make, list and revoke tokens.",
    "trust": "Trust the project in a folder: agents then read its own configuration.",
}
"""Name of the module → the line in `agui-gateway --help`. A subcommand exists if it is listed here."""
