"""Commands beyond the core: each a `click.Command` behind an entry point of `terminus_core.commands`."""
