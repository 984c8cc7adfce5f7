"""The store in one SQLite file.

In: records and pieces. Out: the same, after a restart too. The names to know: `store.SqliteStore` (the store), `writer`
(the one thread that writes), `readers` (connections that read), `schema` (tables and migrations).
"""
