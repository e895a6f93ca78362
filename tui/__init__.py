"""The console: a Textual application over `core`.

Begin with `app` (the start) and `screens.browse` (the one screen). `panes` are the tabs, `dialogs` what
opens over them, `work` the threads beside the screen.
"""
