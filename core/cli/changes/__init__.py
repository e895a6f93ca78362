"""Every action as a command: it shows the plan, asks, and shows the outcome.

Begin with `actions`.
"""
