"""The console: a Textual application over `core`.

Begin with `app` (the start) and `screens.browse` (the main screen). `panes` are the tabs, `dialogs` the
screens that open over them, `work` the background threads.
"""
