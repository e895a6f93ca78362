"""Every action as a command: the plan, the question, the outcome.

Begin with `actions`.
"""
