"""Expressions whose values TensorFlow and feedline.tf must agree on: a module per family, with a list `CASES`.

`CLOSE` names functions whose floats may differ by more than one unit in the last place, and by how much. `AT_ODDS` are
expressions on which they differ, and why: mostly what TensorFlow rejects by accident.
"""
