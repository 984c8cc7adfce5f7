"""Which agents there are now: definitions from files, packages, HTTP and mounted gateways become running agents.

In: layers of definitions (`Overlay`), changes of agent files, registrations, mounted gateways. Out: `Agents`, each an
`Agent` with its definition, its driver, its availability and what it announces.

Names to know: `agents.Agents` and `agents.Agent`, `overlays.Overlays`, `file_watcher.FileWatcher`,
`registrations.Registrations`, `mounts.Mounts`, `probes.Probes`.
"""
