"""What a stock engine does after its commit or tag: done here too, or said in plans.

Begin with `left_out`.
"""
