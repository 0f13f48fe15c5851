"""Capabilities of nodes: what a node can do beyond `Node`, each a small class that it has or has not.

A node has a capability by inheriting it (`class Take(PassThrough, Reshards)`), and the engine asks with `isinstance`.
Where every plan has an answer, such as whether its rows can be read by index, a function next to the class gives it.
"""
