"""What the commands print.

In: AG-UI events, capabilities. Out: text on a console. The names to know: `rich_view.RichView` (a run in a terminal),
`plain_view` (a run in a pipe), `capability_table` (capabilities), `terminal` (consoles, columns, safe text).
"""
