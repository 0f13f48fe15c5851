"""The names of `tf.config.experimental` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import ignored as enable_op_determinism
from feedline.tf.runtime import ignored as experimental_connect_to_cluster
from feedline.tf.runtime import ignored as experimental_connect_to_host
from feedline.tf.runtime import list_physical_devices as get_visible_devices
from feedline.tf.runtime import list_physical_devices as list_logical_devices
from feedline.tf.runtime import list_physical_devices as list_physical_devices
from feedline.tf.runtime import ignored as set_logical_device_configuration
from feedline.tf.runtime import ignored as set_memory_growth
from feedline.tf.runtime import ignored as set_soft_device_placement
from feedline.tf.runtime import ignored as set_virtual_device_configuration
from feedline.tf.runtime import ignored as set_visible_devices

__all__ = [
    "enable_op_determinism",
    "experimental_connect_to_cluster",
    "experimental_connect_to_host",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_logical_device_configuration",
    "set_memory_growth",
    "set_soft_device_placement",
    "set_virtual_device_configuration",
    "set_visible_devices",
]
